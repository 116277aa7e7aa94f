#include "api/submit/once.h"

#include <sql/request_keys.h>

#include <algorithm>

#include "api/read/campaigns.h"

namespace cigri::api {
namespace {

constexpr char kHeader[] = "idempotency-key";
constexpr std::size_t kLongestKey = 64;

std::optional<Reply> CarriedOutBefore(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) -> std::optional<Reply> {
    const auto row =
        tx.First(sql::kCampaignOfRequestKey, request.caller.user, request.Header(kHeader));
    if (!row) return std::nullopt;
    auto answer = CampaignJson(tx, request, row->campaign_id);
    answer["notes"] = {"its first answer was lost: it had been carried out, and was not again"};
    return Reply::Json(std::move(answer));
  });
}

}  // namespace

Reply Once(Context& context, const Request& request, const Handler& carry_out) {
  const std::string key = request.Header(kHeader);
  if (key.empty()) return carry_out(context, request);
  if (key.size() > kLongestKey ||
      !std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    throw BadRequest("Idempotency-Key is not 1 to 64 printable characters",
                     "a new random text for each request, the same when it is repeated");
  if (auto before = CarriedOutBefore(context, request)) return std::move(*before);
  // The first one may end meanwhile: its key is there then, or its upload is taken.
  try {
    return carry_out(context, request);
  } catch (const db::InDoubt&) {
    throw InDoubt("send it again with the same Idempotency-Key: it is carried out once");
  } catch (const db::UniqueViolation&) {
    if (auto before = CarriedOutBefore(context, request)) return std::move(*before);
    throw;
  } catch (const ApiError& e) {
    if (e.status != 409) throw;
    if (auto before = CarriedOutBefore(context, request)) return std::move(*before);
    throw;
  }
}

void NoteRequestKey(db::Tx& tx, const Request& request, std::int64_t campaign) {
  const auto key = request.Header(kHeader);
  if (!key.empty()) tx.Exec(sql::kInsertRequestKey, request.caller.user, key, campaign);
}

}  // namespace cigri::api
