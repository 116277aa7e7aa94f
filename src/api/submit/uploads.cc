#include "api/submit/uploads.h"

#include <sql/parameters.h>

#include <filesystem>

#include "api/http/router.h"
#include "core/limits.h"
#include "jdl/blocks.h"
#include "jdl/command.h"
#include "jdl/jdl.h"

namespace cigri::api {
namespace {

static_assert(limits::kTasks.value == jdl::kMaxLines);
static_assert(limits::kJdlBytes.value == jdl::kMaxText);
constexpr std::int64_t kMegabyte = 1'000'000;

struct UploadRow {
  std::string owner;
  int blocks;
  std::int64_t lines;
  bool published, dropped;
  std::optional<std::int64_t> campaign;
};

std::string NameOf(std::int64_t upload) { return "upload " + std::to_string(upload); }

// The upload, locked; only its owner's (not even an operator has a use for another's).
UploadRow Lock(db::Tx& tx, const Request& request, std::int64_t id) {
  const auto rows = tx.Exec(sql::kLockUpload, id);
  if (rows.empty()) throw NotFound(NameOf(id));
  const auto& r = rows[0];
  UploadRow row{r.grid_user, r.blocks, r.lines, r.published, r.dropped, r.campaign_id};
  if (row.owner != request.caller.user) throw Forbidden(NameOf(id) + " belongs to " + row.owner);
  return row;
}

// nikita removes its blocks some at a time; whoever submitted the rest would miss parameters.
void RequireKept(const UploadRow& row, std::int64_t id) {
  if (row.dropped)
    throw ApiError(410, "Gone",
                   NameOf(id) +
                       " is being removed: nothing was added to it for so long "
                       "(UPLOAD_KEEP)",
                   "begin another upload, with all parameters");
}

void RequireOpenUpload(const UploadRow& row, std::int64_t id) {
  if (!row.published) return;
  const std::string where = row.campaign ? " by campaign " + std::to_string(*row.campaign) : "";
  ApiError error(409, "Conflict", NameOf(id) + " has been used already" + where);
  if (row.campaign) error.extra["campaign"] = *row.campaign;
  throw error;
}

Reply Open(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kOpenUpload, request.caller.user, limits::kUploads.value);
    if (rows.empty())
      throw ApiError(
          429, "Too many",
          "you have " + std::to_string(limits::kUploads.value) + " open uploads, the limit uploads",
          "DELETE /uploads/N those that are abandoned");
    return Reply::Json({{"id", rows[0].id}}, 201);
  });
}

Reply ShowUpload(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    const UploadRow row = Lock(tx, request, request.Id());
    return Reply::Json({{"id", request.Id()},
                        {"blocks", row.blocks},
                        {"lines", row.lines},
                        {"published", row.published}});
  });
}

Reply Drop(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    RequireOpenUpload(Lock(tx, request, request.Id()), request.Id());
    tx.Exec(sql::kDropUploadBlocks, request.Id());
    tx.Exec(sql::kDropUpload, request.Id());
    return Reply::Json({{"status", 202}, {"message", NameOf(request.Id()) + " is gone"}}, 202);
  });
}

std::int64_t LinesOf(const Request& request) {
  const std::int64_t counted = jdl::CountLines(request.body);
  const std::string reported = request.Header("x-cigri-lines");
  if (!reported.empty() && reported != std::to_string(counted))
    throw BadRequest("the block has " + std::to_string(counted) + " lines, not " + reported);
  if (counted < 1 || counted > jdl::kBlockLines)
    throw BadRequest("a block has 1 to " + std::to_string(jdl::kBlockLines) + " lines, not " +
                     std::to_string(counted));
  if (const auto problem = jdl::BlockProblem(request.body, counted); !problem.empty())
    throw BadRequest(problem);
  return counted;
}

Reply Received(int blocks, std::int64_t lines) {
  return Reply::Json({{"blocks", blocks}, {"lines", lines}});
}

// A block that has been received: fine when it is the same, for the answer may have been lost.
void RequireSame(db::Tx& tx, const Request& request, std::int64_t block, std::int64_t lines) {
  const auto rows = tx.Exec(sql::kSameBlock, request.Id(), block, request.body, lines);
  if (!rows.empty() && rows[0].same) return;
  throw ApiError(409, "Conflict",
                 "block " + std::to_string(block) + " has been received with another content");
}

void AddBlock(db::Tx& tx, std::int64_t upload, std::int64_t block, std::int64_t off, std::int64_t n,
              const std::string& text) {
  tx.Exec(sql::kAddBlock, upload, block, off, n, static_cast<int>(jdl::LongestLine(text)), text);
}

Reply PutBlock(Context& context, const Request& request) {
  const std::int64_t lines = LinesOf(request), block = request.Id("block");
  return context.Transact([&](db::Tx& tx) {
    const UploadRow row = Lock(tx, request, request.Id());
    RequireKept(row, request.Id());
    if (block < row.blocks) {
      RequireSame(tx, request, block, lines);
      return Received(row.blocks, row.lines);
    }
    RequireOpenUpload(row, request.Id());
    if (block > row.blocks) {
      ApiError error(409, "Conflict", "block " + std::to_string(row.blocks) + " comes next");
      error.extra["next"] = row.blocks;
      throw error;
    }
    if (row.lines + lines > jdl::kMaxLines)
      throw BadRequest("a campaign takes at most " + std::to_string(jdl::kMaxLines) +
                       " parameters at once");
    RequireSpace(context.config, tx, request.caller.user, request.body.size());
    AddBlock(tx, request.Id(), block, row.lines, lines, request.body);
    tx.Exec(sql::kGrowUpload, request.Id(), lines, request.body.size());
    return Received(row.blocks + 1, row.lines + lines);
  });
}

}  // namespace

// The disk of a database elsewhere is its operators' matter, unless they mount it and say so.
std::optional<std::int64_t> FreeMb(const Config& config) {
  std::error_code none;
  const auto space = std::filesystem::space(config.Get("DATABASE_DISK", CigriHome() + "/pg"), none);
  if (none) return std::nullopt;
  return static_cast<std::int64_t>(space.available / kMegabyte);
}

void RequireSpace(const Config& config, db::Tx& tx, const std::string& user, std::size_t bytes,
                  std::size_t jdl_bytes) {
  constexpr int kLongJdl = 64 << 10;
  const bool long_jdl = jdl_bytes > kLongJdl;
  if (bytes == 0 && !long_jdl) return;
  const std::int64_t most_mb = config.GetInt("UPLOAD_MAX_MB", limits::kUploadMb.value);
  std::int64_t has = tx.One(sql::kUploadedBytes, user).bytes;
  if (long_jdl) {
    has += tx.One(sql::kLongJdlBytes, user, kLongJdl).bytes;
    bytes += jdl_bytes;
  }
  if (has + static_cast<std::int64_t>(bytes) > most_mb * kMegabyte)
    throw ApiError(413, "Too large",
                   "you have " + std::to_string(has / kMegabyte) +
                       " MB of parameters and long JDLs in the database, the limit upload-mb is "
                       "UPLOAD_MAX_MB = " +
                       std::to_string(most_mb) + " MB",
                   "DELETE /uploads/N those that are abandoned, purge campaigns (griddel --purge)");
  const auto free_mb = FreeMb(config);
  const std::int64_t least_mb = config.GetInt("DATABASE_FREE_MB", limits::kFreeMb.value);
  if (!free_mb || *free_mb >= least_mb) return;
  throw ApiError(503, "Unavailable",
                 "the disk of the database has " + std::to_string(*free_mb) +
                     " MB left, and takes no parameters below DATABASE_FREE_MB = " +
                     std::to_string(least_mb) + " MB",
                 "ask the operators of the grid for space");
}

ParameterUpload TakeUpload(db::Tx& tx, const Request& request) {
  const ParameterUpload upload{request.QueryInt("upload", 0, 1, INT64_MAX), 0};
  const UploadRow row = Lock(tx, request, upload.id);
  RequireKept(row, upload.id);
  RequireOpenUpload(row, upload.id);
  if (row.lines == 0) throw BadRequest(NameOf(upload.id) + " has no parameters");
  return {upload.id, row.lines};
}

void RequireRows(db::Tx& tx, const ParameterUpload& upload, std::size_t columns) {
  for (std::int64_t at = 0; at < upload.lines;) {
    const auto rows = tx.Exec(sql::kBlocksFrom, upload.id, at);
    if (rows.empty()) return;
    for (const auto& row : rows)
      for (const auto& line : jdl::DecodeBlock(row.params)) {
        ++at;
        if (const auto problem = jdl::ValuesProblem(line, columns); !problem.empty())
          throw BadParameter(at, problem);
      }
  }
}

std::vector<std::string> FirstLines(db::Tx& tx, std::int64_t upload, std::int64_t n) {
  const auto rows = tx.Exec(sql::kFirstBlock, upload);
  return rows.empty() ? std::vector<std::string>() : jdl::NthLines(rows[0].params, 0, n);
}

std::int64_t StoreBlocks(db::Tx& tx, const std::string& user,
                         const std::vector<std::string>& blocks) {
  std::int64_t bytes = 0, lines = 0;
  for (const auto& block : blocks) {
    bytes += static_cast<std::int64_t>(block.size());
    lines += jdl::CountLines(block);
  }
  const auto id = tx.One(sql::kAddInlineUpload, user, blocks.size(), lines, bytes).id;
  std::int64_t off = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const auto n = jdl::CountLines(blocks[k]);
    AddBlock(tx, id, static_cast<std::int64_t>(k), off, n, blocks[k]);
    off += n;
  }
  return id;
}

void AddUploadRoutes(Router& router) {
  router.Post("/uploads", Open);
  router.Get("/uploads/{id}", ShowUpload);
  router.Delete("/uploads/{id}", Drop);
  router.Put("/uploads/{id}/blocks/{block}", PutBlock);
}

}  // namespace cigri::api
