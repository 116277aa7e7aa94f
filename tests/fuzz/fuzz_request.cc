// Any bytes as values of a query, as a JSON body, and as the settings of a cluster in one.
#include "api/admin/cluster_settings.h"
#include "api/http/message.h"
#include "core/hours.h"
#include "core/retry.h"
#include "core/text.h"
#include "fuzz/need.h"

namespace {

using namespace cigri;
using fuzz::Need;

// What is refused is refused with 4xx and words; `call` may throw nothing else.
template <typename Call>
bool Taken(Call call) {
  try {
    call();
    return true;
  } catch (const api::ApiError& e) {
    Need(e.status >= 400 && e.status < 500 && e.what()[0] != '\0');
    e.Body().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return false;
  }
}

void TryQuery(std::string_view text) {
  api::Request request;
  request.query = {{"x", std::string(text)}};
  Taken([&] {
    const auto n = request.QueryInt("x", 5, 1, 1000);
    Need(n >= 1 && n <= 1000);
  });
  Taken([&] {
    const double at = request.QueryTime("x", 5);
    Need(at >= -1e11 && at <= 1e11);
  });
  request.Flag("x");
  std::string fault;
  if (WithinHours(std::string(text), 1'790'000'000, &fault)) Need(fault.empty());
  if (const auto s = ParseWalltime(text)) Need(ParseWalltime(FormatWalltime(*s)) == s);
  Need(IsValidUtf8(ValidUtf8(text)));
  if (IsValidUtf8(text)) Need(ValidUtf8(text) == text);
}

void TryBody(std::string_view text) {
  api::Request request;
  request.body = text;
  nlohmann::json body;
  if (!Taken([&] { body = request.Json(); })) return;
  Need(nlohmann::json::parse(body.dump()) == body);
  Taken([&] { api::CheckClusterSettings(body); });
}

void Try(std::string_view text) {
  TryQuery(text);
  TryBody(text);
  Taken([&] { api::CheckClusterName(std::string(text)); });
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
