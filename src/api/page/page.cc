#include "api/page/page.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/http/router.h"
#include "core/text.h"

namespace cigri::api {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* ending;
  const char* type;
};
constexpr Kind kKinds[] = {{".js", "text/javascript; charset=utf-8"},
                           {".css", "text/css; charset=utf-8"},
                           {".txt", "text/plain; charset=utf-8"}};

// Scripts and styles come from here alone, data goes nowhere else, nothing is framed, and no text
// becomes HTML or script.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// "" = switched off. A build has the page next to the folder of its programs, an installation in
// share.
fs::path Folder(const Context& context) {
  const std::string set = context.config.Get("PAGE", "on");
  if (set == "off") return {};
  if (set != "on") return set;
  std::error_code error;
  const fs::path programs = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path built = programs.parent_path() / "web";
  return fs::is_directory(built, error) ? built : programs / "../../share/cigri/web";
}

std::optional<std::string> Read(const fs::path& file) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (!fs::is_regular_file(file, error) || !in) return std::nullopt;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// One name in the folder: it cannot lead out of it.
bool IsName(const std::string& name) {
  return !name.empty() && name[0] != '.' &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._-") == std::string::npos;
}

const char* TypeOf(const std::string& name) {
  for (const Kind& kind : kKinds)
    if (name.ends_with(kind.ending)) return kind.type;
  return nullptr;
}

Reply File(Context& context, const Request& request) {
  const std::string& name = request.Word("name");
  const fs::path folder = Folder(context);
  const char* type = TypeOf(name);
  if (folder.empty() || type == nullptr || !IsName(name)) throw NotFound("file " + name);
  const auto packed = request.accepts_brotli ? Read(folder / (name + ".br")) : std::nullopt;
  const auto text = packed ? packed : Read(folder / name);
  if (!text) throw NotFound("file " + name);
  Reply reply = Reply::Text(*text, type);
  if (packed) reply.headers["Content-Encoding"] = "br";
  reply.headers["Vary"] = "Accept-Encoding";
  // The name holds a hash of what is in it.
  reply.headers["Cache-Control"] = "public, max-age=31536000, immutable";
  return reply;
}

// A prefix that a proxy sends becomes part of HTML.
std::string Prefix(const Request& request) {
  const bool plain =
      request.link_prefix.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789/._~-") == std::string::npos;
  return (plain ? request.link_prefix : "") + request.base;
}

}  // namespace

std::optional<Reply> PageFor(const Context& context, const Request& request) {
  if (request.Header("accept").find("text/html") == std::string::npos) return std::nullopt;
  const fs::path folder = Folder(context);
  if (folder.empty()) return std::nullopt;
  const auto text = Read(folder / "index.html");
  if (!text) return std::nullopt;
  Reply reply =
      Reply::Text(ReplaceAll(*text, "@base@", Prefix(request)), "text/html; charset=utf-8");
  reply.headers = {{"Content-Security-Policy", kPolicy},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cache-Control", "no-cache"}};
  return reply;
}

void AddPageRoutes(Router& router) { router.Get("/page/{name:text}", File, Access::kAnyone); }

}  // namespace cigri::api
