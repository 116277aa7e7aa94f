#include "localcluster/intake.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "localcluster/plain_command.h"

namespace cigri::localcluster {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestScript = 1 << 20;
constexpr int kLongestBody = 1 << 20, kDeepestBody = 32;  // of a caller who is not trusted

[[noreturn]] void Bad(const std::string& message) { throw Refused(422, "batch", message); }

std::string Text(const json& object, const char* key, std::size_t longest) {
  const auto it = object.find(key);
  if (it == object.end()) return "";
  if (!it->is_string()) Bad(std::string("\"") + key + "\" must be a string");
  const auto& text = it->get_ref<const std::string&>();
  if (text.size() > longest)
    Bad(std::string("\"") + key + "\" is longer than " + std::to_string(longest) + " bytes");
  if (text.find('\0') != text.npos) Bad(std::string("\"") + key + "\" holds a NUL");
  return text;
}

std::int64_t Number(const json& object, const char* key, std::int64_t fallback, std::int64_t least,
                    std::int64_t most) {
  const auto it = object.find(key);
  if (it == object.end()) return fallback;
  // Above 2^63 it is a number too, but none of ours.
  const bool fits = it->is_number_integer() &&
                    !(it->is_number_unsigned() &&
                      it->get<std::uint64_t>() >
                          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  const std::int64_t n = fits ? it->get<std::int64_t>() : 0;
  if (!fits || n < least || n > most)
    Bad(std::string("\"") + key + "\" must be a whole number from " + std::to_string(least) +
        " to " + std::to_string(most));
  return n;
}

bool IsName(const std::string& s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  return s.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         s.npos;
}

std::vector<std::string> EnvironmentIn(const json& object) {
  std::vector<std::string> out;
  const auto it = object.find("env");
  if (it == object.end()) return out;
  if (!it->is_object()) Bad("\"env\" must be an object of strings");
  for (const auto& [name, value] : it->items()) {
    if (!IsName(name)) Bad("\"" + name + "\" is no name of a variable");
    out.push_back(name + "=" + Text(*it, name.c_str(), 100'000));
  }
  return out;
}

// A command that is no UTF-8 cannot stand in JSON: it comes with each byte as the code point of the
// same number.
std::string Bytes(const std::string& text, int index) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out += text[i];
    } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.size()) {
      out += static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f));
    } else {
      Bad("element " + std::to_string(index) +
          " says \"bytes\" and holds a character above U+00FF");
    }
  }
  return out;
}

void CheckTag(const std::string& tag) {
  constexpr char kAllowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (tag.empty() || tag.find_first_not_of(kAllowed) != tag.npos)
    Bad("\"tag\" must be made of letters, digits and _.-");
}

std::unique_ptr<Job> ReadElement(const json& e, int index, const Batch& batch, bool grid_numbers) {
  if (!e.is_object()) Bad("element " + std::to_string(index) + " is no object");
  auto job = std::make_unique<Job>();
  job->index = static_cast<int>(Number(e, "index", index, 0, 1 << 30));
  if (job->index != index)
    Bad("element " + std::to_string(index) + " has the index " + std::to_string(job->index));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (grid_numbers) {
    job->job_id = Number(e, "job_id", 0, 0, kMost);
    job->task_index = Number(e, "task_index", -1, -1, kMost);
    job->attempt = static_cast<int>(Number(e, "attempt", 1, 0, 1'000'000));
  }
  job->command = Text(e, "command", kLongestScript);
  if (job->command.empty()) Bad("element " + std::to_string(index) + " has no \"command\"");
  if (batch.setup.size() + job->command.size() > kLongestScript)
    Bad("setup and command of element " + std::to_string(index) + " are longer than 1 MB");
  job->env = EnvironmentIn(e);
  if (e.contains("bytes")) job->command = Bytes(job->command, index);
  return job;
}

}  // namespace

void CheckLength(std::size_t bytes) {
  if (bytes > kLongestBody)
    throw Refused(413, "limit", "a request may have " + std::to_string(kLongestBody) + " bytes",
                  kLongestBody);
}

void CheckDepth(std::string_view body) {
  int depth = 0;
  bool text = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (text && c == '\\') ++i;
    if (c == '"') text = !text;
    if (text) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepestBody)
      throw Refused(400, "batch",
                    "the body is nested deeper than " + std::to_string(kDeepestBody) + " levels");
  }
}

Intake ReadBatch(const std::string& body, const IntakeLimits& limits) {
  const json j = json::parse(body, nullptr, false);
  if (!j.is_object()) throw Refused(400, "batch", "the body is not a JSON object");
  Intake in;
  in.batch = std::make_shared<Batch>();
  Batch& b = *in.batch;
  b.tag = Text(j, "tag", 200);
  CheckTag(b.tag);
  b.user = Text(j, "user", 200);
  b.name = Text(j, "name", 1000);
  b.directory = Text(j, "directory", 4000);
  b.setup = Text(j, "setup", kLongestScript);
  b.exports = PlainExports(b.setup);
  if (limits.grid_numbers)
    b.campaign = Number(j, "campaign", 0, 0, std::numeric_limits<std::int64_t>::max());
  b.walltime_s = static_cast<int>(
      Number(j, "walltime_s", std::min(3600, limits.walltime_s), 1, limits.walltime_s));
  b.slots = static_cast<int>(Number(j, "slots", 1, 1, 1 << 20));
  if (b.slots > limits.slots)
    throw Refused(422, "batch",
                  "a job asks for " + std::to_string(b.slots) + " slots, this cluster has " +
                      std::to_string(limits.slots),
                  limits.slots);
  const auto best_effort = j.find("best_effort");
  if (best_effort != j.end() && !best_effort->is_boolean())
    Bad("\"best_effort\" must be true or false");
  b.best_effort = best_effort == j.end() || best_effort->get<bool>();
  b.env = EnvironmentIn(j);
  const auto elements = j.find("elements");
  if (elements == j.end() || !elements->is_array() || elements->empty())
    Bad("\"elements\" must be a list of at least one job");
  if (elements->size() > static_cast<std::size_t>(limits.elements))
    throw Refused(413, "limit", "more than " + std::to_string(limits.elements) + " elements",
                  limits.elements);
  b.n = static_cast<int>(elements->size());
  for (int i = 0; i < b.n; ++i)
    in.jobs.push_back(ReadElement((*elements)[i], i, b, limits.grid_numbers));
  return in;
}

}  // namespace cigri::localcluster
