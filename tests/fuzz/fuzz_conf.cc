// Any bytes as cigri.conf.
#include "core/config.h"
#include "core/error.h"
#include "fuzz/need.h"

namespace {

using namespace cigri;
using fuzz::Need;

template <typename Call>
bool Taken(Call call) {
  try {
    call();
    return true;
  } catch (const Fatal& e) {
    Need(e.code() == kExitConfig);
    Need(std::string_view(e.what()).find("cigri.conf:") == 0);  // with the line
    return false;
  }
}

void Try(std::string_view text) {
  Config config;
  if (!Taken([&] { config = Config::Parse(text, "cigri.conf"); })) return;
  for (const auto& warning : config.Warnings()) Need(warning.find("cigri.conf:") == 0);
  for (const char* key : {"SAFETY_TICK", "LEADER_TERM", "API_LISTEN", "PAGE"}) {
    if (!config.Has(key)) continue;
    const std::string value = config.Get(key);
    Need(value.find('\n') == value.npos);
    Taken([&] {
      const auto n = config.GetInt(key, 5, 0, 100);
      Need(n >= 0 && n <= 100);
    });
    Taken([&] { config.GetDouble(key, 5); });
    Taken([&] { config.GetBool(key, false); });
    // What it says it says again, quoted.
    if (value.find('"') == value.npos) {
      const auto again = Config::Parse(std::string(key) + " = \"" + value + "\"", "cigri.conf");
      Need(again.Get(key) == value);
    }
  }
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
