// What operators do to a grid: the routes under /admin (docs/gridadmin.md).
#pragma once
#include <functional>

#include "api/http/router.h"

namespace cigri::api {

/// All routes under /admin, for operators only.
void AddAdminRoutes(Router& router);

// Its parts, a file each.
void AddRuleRoutes(Router& router);          // rules.cc
void AddClusterAdminRoutes(Router& router);  // clusters.cc
void AddDrainRoutes(Router& router);         // drain.cc
void AddUserAdminRoutes(Router& router);     // users.cc: affinity, mapping, operators, tokens
void AddCheckRoutes(Router& router);         // check.cc
void AddPolicyRoutes(Router& router);        // policy.cc
void AddHistoryRoutes(Router& router);       // history.cc
void AddLimitRoutes(Router& router);         // limits.cc
void AddAuditRoutes(Router& router);         // audit.cc
void AddErrorRoutes(Router& router);         // errors.cc
void AddSimulateRoutes(Router& router);      // simulate.cc

/// The stored decisions of [from, until), epoch s, the oldest `limit` at most, with the durations of
/// their campaigns: {"items":[...],"durations":[...],"more":bool}, as gridsim --from-history reads.
nlohmann::json PlansHistory(db::Tx& tx, double from, double until, std::int64_t limit);

/// Waits until nothing that was claimed for these clusters before can be sent any more: what closes
/// them has committed. Throws 503, which says that `done` all the same, when that takes too long.
void AwaitSilence(Context& context, const std::vector<std::int64_t>& clusters,
                  const std::string& done);

/// Gives a grid whose policy was never set the preset `site-default`.
void InstallDefaultPolicy(db::Tx& tx);

/// {"items":[...],"total":n} of rows with one column `item`, a JSON text.
template <typename Row>
Reply Items(const std::vector<Row>& rows) {
  nlohmann::json items = nlohmann::json::array();
  for (const auto& row : rows) items.push_back(nlohmann::json::parse(row.item));
  const auto total = items.size();
  return Reply::Json({{"items", std::move(items)}, {"total", total}});
}
/// The one JSON value of the one row; throws NotFound(what) when there is none.
template <typename Row>
nlohmann::json TheRow(const std::vector<Row>& rows, const std::string& what) {
  if (rows.empty()) throw NotFound(what);
  return nlohmann::json::parse(rows.front().item);
}
/// Throws NotFound(what) when a statement has changed nothing, or has no rows.
inline void MustHave(std::size_t rows, const std::string& what) {
  if (rows == 0) throw NotFound(what);
}
template <typename Row>
void MustHave(const std::vector<Row>& rows, const std::string& what) {
  MustHave(rows.size(), what);
}

/// Runs `body` in a transaction; what the database says against the values is a 400 (409 for a
/// name that is taken), by its message.
nlohmann::json TransactChecked(Context& context,
                               const std::function<nlohmann::json(db::Tx&)>& body);

/// The body, which must be an object with these keys at most; throws 400 with "did you mean".
nlohmann::json ObjectBody(const Request& request, const std::vector<std::string>& keys);
/// A text of a body; throws 400 when it is missing or no text.
std::string TextOf(const nlohmann::json& body, const std::string& key);
/// The same, or nothing when the key is absent or null.
std::optional<std::string> OptionalText(const nlohmann::json& body, const std::string& key);
std::optional<int> OptionalInt(const nlohmann::json& body, const std::string& key);

}  // namespace cigri::api
