// Parameters on their way: uploads of numbered blocks that a campaign names when they are complete.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/http/message.h"
#include "core/config.h"
#include "db/db.h"

namespace cigri::api {

/// An upload, complete and not yet used.
struct ParameterUpload {
  std::int64_t id = 0, lines = 0;
};
/// The upload ?upload= of the caller, locked until the transaction ends. Throws 404, 403 (of
/// another user), 409 (used already; extra "campaign"), 400 (empty).
ParameterUpload TakeUpload(db::Tx& tx, const Request& request);
/// Throws 413 when `user` would have more than UPLOAD_MAX_MB of parameters in the database with
/// `bytes` more and a JDL of `jdl_bytes`, 503 when the disk of the database has less than
/// DATABASE_FREE_MB left. A short JDL alone always has space.
void RequireSpace(const Config& config, db::Tx& tx, const std::string& user, std::size_t bytes,
                  std::size_t jdl_bytes = 0);
/// MB left on the disk of the database; nothing when it is no disk of this host.
std::optional<std::int64_t> FreeMb(const Config& config);
/// Throws 400, naming the first of its lines that is no row of `columns` values.
void RequireRows(db::Tx& tx, const ParameterUpload& upload, std::size_t columns);
/// Its first lines, at most `n`.
std::vector<std::string> FirstLines(db::Tx& tx, std::int64_t upload, std::int64_t n);
/// Parameters that came in the request itself, as encoded blocks; returns the upload's id.
std::int64_t StoreBlocks(db::Tx& tx, const std::string& user,
                         const std::vector<std::string>& blocks);

}  // namespace cigri::api
