#include "sim/keys.h"

#include <charconv>
#include <cmath>

#include "core/text.h"

namespace cigri::sim {

using nlohmann::json;

namespace {

std::string Plain(double x) {
  std::string text = json(x).dump();
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string Range(double least, double most) {
  if (std::isinf(most)) return Plain(least) + " or more";
  return Plain(least) + " to " + Plain(most);
}

using Units = std::map<std::string, double>;

std::optional<double> WithUnit(std::string_view text, const Units& units) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || !std::isfinite(n)) return std::nullopt;
  const std::string unit(Trim(text.substr(static_cast<std::size_t>(end - text.data()))));
  const auto it = units.find(unit);
  return it == units.end() ? std::nullopt : std::optional(n * it->second);
}

}  // namespace

std::optional<double> ParseDuration(std::string_view text) {
  text = Trim(text);
  if (text.find(':') != text.npos) {
    const auto walltime = ParseWalltime(text);
    return walltime ? std::optional<double>(*walltime) : std::nullopt;
  }
  static const Units kUnits = {{"", 1},     {"s", 1},     {"ms", 0.001},    {"min", 60},
                               {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"y", 365 * 86400}};
  return WithUnit(text, kUnits);
}

std::optional<double> ParseBytes(std::string_view text) {
  static const Units kUnits = {{"", 1},    {"B", 1},    {"kB", 1e3},
                               {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  return WithUnit(Trim(text), kUnits);
}

void FaultAt(jdl::Document& doc, const std::string& path, const std::string& message,
             const std::string& hint) {
  std::string at = path;
  while (!at.empty() && doc.where.count(at) == 0 && doc.key_where.count(at) == 0) {
    const auto cut = at.find_last_of(".[");
    at = cut == at.npos ? "" : at.substr(0, cut);
  }
  const auto where = doc.where.find(at);
  doc.faults.insert({where == doc.where.end() ? 0 : where->second, path, message, hint});
}

Keys::Keys(jdl::Document& doc, std::string path, const json& object)
    : doc_(doc), path_(std::move(path)) {
  if (object.is_object())
    object_ = &object;
  else
    FaultAt(doc_, path_, "must be an object", "{\"key\": value, ...}");
}

const json* Keys::Find(const std::string& key) {
  known_.insert(key);
  if (object_ == nullptr) return nullptr;
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}
bool Keys::Has(const std::string& key) { return Find(key) != nullptr; }

void Keys::Fault(const std::string& key, const std::string& message, const std::string& hint) {
  FaultAt(doc_, PathOf(key), message, hint);
}

void Keys::Number(const std::string& key, double& out, double least, double most) {
  const json* v = Find(key);
  if (v == nullptr) return;
  const double x = v->is_number() ? v->get<double>() : std::nan("");
  if (!(x >= least && x <= most)) return Fault(key, "must be a number, " + Range(least, most));
  out = x;
}

void Keys::Whole(const std::string& key, std::int64_t& out, std::int64_t least, std::int64_t most) {
  const json* v = Find(key);
  if (v == nullptr) return;
  if (!v->is_number_integer() || v->get<double>() < static_cast<double>(least) ||
      v->get<double>() > static_cast<double>(most))
    return Fault(key, "must be a whole number, " +
                          Range(static_cast<double>(least), static_cast<double>(most)));
  out = v->get<std::int64_t>();
}
void Keys::Whole(const std::string& key, int& out, std::int64_t least, std::int64_t most) {
  std::int64_t wide = out;
  Whole(key, wide, least, most);
  out = static_cast<int>(wide);
}

void Keys::Seconds(const std::string& key, double& out, double least) {
  const json* v = Find(key);
  if (v == nullptr) return;
  std::optional<double> seconds;
  if (v->is_number()) seconds = v->get<double>();
  if (v->is_string()) seconds = ParseDuration(v->get<std::string>());
  if (!seconds || !std::isfinite(*seconds))
    return Fault(key, "must be a time",
                 "seconds, or \"90 s\", \"15 min\", \"6 h\", \"2 d\", \"1:30:00\"");
  if (*seconds < least || *seconds > 1e11)
    return Fault(key, "must be at least " + Plain(least) + " s (and less than 3000 years)");
  out = *seconds;
}

void Keys::Bytes(const std::string& key, double& out) {
  const json* v = Find(key);
  if (v == nullptr) return;
  std::optional<double> bytes;
  if (v->is_number()) bytes = v->get<double>();
  if (v->is_string()) bytes = ParseBytes(v->get<std::string>());
  if (!bytes || !(*bytes >= 0 && *bytes <= 1e18))
    return Fault(key, "must be a number of bytes, 0 or more",
                 "2000, \"200 MB\", \"1.5 GB\", \"1 TB\"");
  out = *bytes;
}

void Keys::Word(const std::string& key, std::string& out, const std::vector<std::string>& words) {
  const json* v = Find(key);
  if (v == nullptr) return;
  if (!v->is_string()) return Fault(key, "must be a text");
  const std::string text = v->get<std::string>();
  if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end()) {
    const auto near = DidYouMean(text, words);
    return Fault(key, "\"" + jdl::Shown(text) + "\" is none of " + Join(words, ", "),
                 near ? "did you mean \"" + *near + "\"?" : "");
  }
  out = text;
}

void Keys::Bool(const std::string& key, bool& out) {
  const json* v = Find(key);
  if (v == nullptr) return;
  if (!v->is_boolean()) return Fault(key, "must be true or false");
  out = v->get<bool>();
}

void Keys::Names(const std::string& key, std::vector<std::string>& out) {
  const json* v = Find(key);
  if (v == nullptr) return;
  if (!v->is_array()) return Fault(key, "must be a list of names", "[\"a\", \"b\"]");
  out.clear();
  for (std::size_t i = 0; i < v->size(); ++i) {
    if ((*v)[i].is_string())
      out.push_back((*v)[i].get<std::string>());
    else
      FaultAt(doc_, PathOf(key) + "[" + std::to_string(i) + "]", "must be a name");
  }
}

void Keys::Done() {
  if (object_ == nullptr) return;
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : object_->items()) {
    if (known_.count(key) != 0) continue;
    const auto near = DidYouMean(key, names);
    FaultAt(doc_, PathOf(key), "unknown key",
            near ? "did you mean \"" + *near + "\"?" : "there are " + Join(names, ", "));
  }
}

}  // namespace cigri::sim
