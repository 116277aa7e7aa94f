// Any bytes as a JDL: no crash, and what is accepted stays the same through store, rules and
// shell (cmake -DCIGRI_FUZZ=ON; build/tests/fuzz_jdl tests/jdl/corpus).
#include <cstdlib>
#include <string>

#include "core/text.h"
#include "jdl/jdl.h"

namespace {

using namespace cigri::jdl;

void Need(bool truth) {
  if (!truth) std::abort();
}

void CheckAccepted(const Result& result, const Defaults& defaults) {
  const auto stored = ToJson(result.campaign);
  const auto again = FromJson(stored, defaults);
  Need(again.ok());
  Need(ToJson(again.campaign) == stored);
  for (const auto& cluster : result.campaign.clusters)
    for (const auto& line : result.campaign.params.First(3))
      CommandLine(cluster.exec_file, result.campaign.format, result.campaign.columns, line, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Defaults defaults;
  const Result result = Parse(
      text, defaults, {.may_read_files = true, .uploaded = false, .format = "", .columns = {}});
  for (const auto& fault : result.faults) {
    Need(fault.line >= 1 && fault.column >= 1);
    Need(!fault.message.empty());
    ToJson(fault).dump();  // throws on what is not UTF-8
  }
  if (result.ok()) CheckAccepted(result, defaults);
  const auto lines = DecodeBlock(text);
  Need(DecodeBlock(EncodeBlock(lines)) == lines);
  ParseResources(text, "core");
  if (text.find('\0') == text.npos)
    CommandLine(text, kFormatValues, {"a", "b"}, EncodeValues({"x", "y"}), 7);
  return 0;
}
