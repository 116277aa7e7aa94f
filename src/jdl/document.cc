#include "jdl/document.h"

#include <algorithm>

#include "core/text.h"
#include "jdl/command.h"
#include "jdl/escapes.h"
#include "jdl/jdl.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

constexpr int kMaxNodes = 100'000;  // values outside of params
constexpr int kMostUnknown = 100;   // unknown keys: to look for what they meant takes long
constexpr std::size_t kMaxSkipped = 1'000'000;  // backslashes that begin no escape
constexpr std::size_t kMaxPathBytes = 16 << 20;
constexpr std::size_t kMaxTextBytes = 4 << 20;  // outside of params: each cluster gets its own
constexpr std::size_t kMaxFaults = 50;          // a wrong file should not print a million lines

// Reads one byte after the other and counts them: nlohmann's positions name no line of a value.
// Leaves out the bytes at the offsets `skipped`, which it counts too.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* p;
  std::size_t* n;
  const std::size_t* skipped;
  const std::size_t* skipped_end;
  const char& operator*() const { return *p; }
  CountingIterator& operator++() {
    for (++p, ++*n; skipped != skipped_end && *skipped == *n; ++p, ++*n) ++skipped;
    return *this;
  }
  bool operator==(const CountingIterator& o) const { return p == o.p; }
  bool operator!=(const CountingIterator& o) const { return p != o.p; }
};

// Builds the document. The elements of "params" go straight into blocks: a JSON value for each of
// ten million lines would be gigabytes.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(std::string_view text, std::size_t& read, Document& doc)
      : text_(text), read_(read), doc_(doc) {}

  bool null() override { return Value(nullptr, read_ - 4, "null"); }
  bool boolean(bool v) override { return Value(v, read_ - (v ? 4 : 5), v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override {
    return Value(v, NumberBegin(), std::to_string(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    return Value(v, NumberBegin(), std::to_string(v));
  }
  bool number_float(number_float_t v, const string_t& s) override {
    return Value(v, NumberBegin(), s);
  }
  bool string(string_t& v) override { return Value(v, StringBegin(), v); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (in_params_) return BadParameter(read_ - 1, "an object");
    return Open(json::object());
  }
  bool end_object() override { return Close(); }
  bool key(string_t& k) override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t, const std::string&, const json::exception& e) override;

 private:
  std::size_t StringBegin() const;
  std::size_t NumberBegin() const;
  bool Value(json v, std::size_t begin, const std::string& text);
  bool Open(json v);
  bool Close();
  json* Put(json v, std::size_t begin);
  bool Stop(std::size_t at, const std::string& key, const std::string& message,
            const std::string& hint = "");
  bool Parameter(std::size_t begin, const std::string& text);
  bool BadParameter(std::size_t begin, const std::string& what);
  bool EndRow();
  bool AddLine(std::size_t begin, const std::string& line);
  void Note(std::size_t at, const std::string& key, const std::string& message,
            const std::string& hint = "");
  bool Fits(std::size_t begin);
  std::string ParamPath() const {
    return "params[" + std::to_string(doc_.params.lines.size()) + "]";
  }

  std::string_view text_;
  std::size_t& read_;
  Document& doc_;
  std::vector<json*> open_;
  std::vector<std::string> paths_;
  std::vector<std::set<std::string>> keys_;
  std::string key_, key_path_;
  int nodes_ = 0;
  std::size_t path_bytes_ = 0, text_bytes_ = 0;
  bool in_params_ = false, in_row_ = false, mixed_ = false;
  std::vector<std::string> row_;
  std::size_t row_begin_ = 0;
};

// The quote that begins the string which ends right before `read_`: the nearest one to the left
// that no odd number of backslashes protects.
std::size_t Reader::StringBegin() const {
  for (std::size_t i = read_ - 1; i > 0;) {
    --i;
    if (text_[i] != '"') continue;
    std::size_t slashes = 0;
    while (slashes < i && text_[i - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return i;
    i -= slashes;
  }
  return 0;
}

// A number is known to end only one character behind it, or at the end of the text.
std::size_t Reader::NumberBegin() const {
  const auto is_part = [&](std::size_t i) {
    return std::string_view("+-.0123456789eE").find(text_[i]) != std::string_view::npos;
  };
  std::size_t i = std::min(read_, text_.size());
  if (i > 0 && !is_part(i - 1)) --i;
  while (i > 0 && is_part(i - 1)) --i;
  return i;
}

void Reader::Note(std::size_t at, const std::string& key, const std::string& message,
                  const std::string& hint) {
  if (doc_.faults.size() < kMaxFaults) doc_.faults.insert({at, key, message, hint});
}

bool Reader::Stop(std::size_t at, const std::string& key, const std::string& message,
                  const std::string& hint) {
  doc_.faults.insert({at, key, message, hint});
  return false;
}

json* Reader::Put(json v, std::size_t begin) {
  if (open_.empty()) {
    doc_.root = std::move(v);
    key_path_.clear();
    doc_.where[""] = begin;
    return &doc_.root;
  }
  json& parent = *open_.back();
  if (parent.is_array()) {
    key_path_ = paths_.back() + "[" + std::to_string(parent.size()) + "]";
    doc_.where[key_path_] = begin;
    parent.push_back(std::move(v));
    return &parent.back();
  }
  key_path_ = Join2(paths_.back(), key_);
  doc_.where[key_path_] = begin;
  return &(parent[key_] = std::move(v));
}

// Where each value is takes as many bytes as the names above it have.
bool Reader::Fits(std::size_t begin) {
  if (++nodes_ > kMaxNodes) return Stop(begin, "", "more than 100000 values", "use param_file");
  if (!open_.empty()) path_bytes_ += paths_.back().size() + key_.size();
  if (path_bytes_ > kMaxPathBytes)
    return Stop(begin, "", "the names of keys are too long", "use shorter ones, or fewer values");
  return true;
}

bool Reader::Value(json v, std::size_t begin, const std::string& text) {
  if (in_params_) {
    if (v.is_string() || v.is_number()) return Parameter(begin, text);
    return BadParameter(begin, text);
  }
  if (!Fits(begin)) return false;
  text_bytes_ += text.size();
  if (text_bytes_ > kMaxTextBytes)
    return Stop(begin, "", "more than 4 MB besides the parameters",
                "put into a file what the jobs read");
  const bool nul = v.is_string() && text.find('\0') != text.npos;
  Put(std::move(v), begin);
  if (nul) Note(begin, key_path_, "contains a NUL byte, which no program can be given");
  return !doc_.Full();
}

bool Reader::Open(json v) {
  if (open_.size() >= static_cast<std::size_t>(kMaxDepth))
    return Stop(read_ - 1, "", "nested deeper than 32 levels");
  if (!Fits(read_ - 1)) return false;
  json* opened = Put(std::move(v), read_ - 1);
  open_.push_back(opened);
  paths_.push_back(key_path_);
  keys_.emplace_back();
  return true;
}

bool Reader::Close() {
  open_.pop_back();
  paths_.pop_back();
  keys_.pop_back();
  return true;
}

bool Reader::key(string_t& k) {
  const std::size_t begin = StringBegin();
  key_ = open_.size() == 1 ? Lower(k) : k;
  const std::string path = Join2(paths_.back(), key_);
  if (!keys_.back().insert(key_).second)
    Note(begin, path, "key \"" + Shown(k) + "\" is given twice", "keep one of them");
  if (key_.find('\0') != key_.npos) Note(begin, path, "a key contains a NUL byte");
  doc_.key_where[path] = begin;
  return !doc_.Full();
}

bool Reader::start_array(std::size_t) {
  if (in_params_) {
    if (in_row_) return BadParameter(read_ - 1, "an array within a row");
    in_row_ = true;
    row_begin_ = read_ - 1;
    row_.clear();
    return true;
  }
  if (open_.size() != 1 || key_ != "params") return Open(json::array());
  doc_.where["params"] = doc_.params.begin = read_ - 1;
  doc_.params.lines = {};  // the last of two wins; that there are two is a fault already
  doc_.params.given = in_params_ = true;
  doc_.params.rows = mixed_ = false;
  return true;
}

bool Reader::end_array() {
  if (!in_params_) return Close();
  if (in_row_) {
    in_row_ = false;
    return EndRow();
  }
  in_params_ = false;
  doc_.params.end = read_;
  return true;
}

bool Reader::Parameter(std::size_t begin, const std::string& text) {
  if (in_row_) {
    row_.push_back(text);
    return true;
  }
  if (doc_.params.rows && !mixed_) {
    Note(begin, ParamPath(), "is no array of values, the parameters before it are");
    mixed_ = true;
  }
  return AddLine(begin, text);
}

bool Reader::EndRow() {
  auto& params = doc_.params;
  if (params.lines.empty()) {
    params.rows = true;
    params.row_length = row_.size();
    if (row_.empty()) Note(row_begin_, ParamPath(), "is a row without values");
  } else if (!params.rows && !mixed_) {
    Note(row_begin_, ParamPath(), "is an array of values, the parameters before it are not");
    mixed_ = true;
  } else if (params.rows && row_.size() != params.row_length) {
    Note(row_begin_, ParamPath(),
         "has " + std::to_string(row_.size()) + " values, the first row has " +
             std::to_string(params.row_length));
  }
  for (const auto& value : row_) {
    const auto problem = LineProblem(value);
    if (!problem.empty()) Note(row_begin_, ParamPath(), problem);
  }
  return AddLine(row_begin_, EncodeValues(row_));
}

// False when the rest need not be read.
bool Reader::AddLine(std::size_t begin, const std::string& line) {
  const auto problem = LineProblem(line);
  if (!problem.empty()) Note(begin, ParamPath(), problem);
  doc_.params.lines.Add(line);
  if (doc_.params.lines.size() > kMaxLines)
    return Stop(begin, "params", "more than 10000000 parameters",
                "split it into several campaigns");
  return !doc_.Full();
}

bool Reader::BadParameter(std::size_t begin, const std::string& what) {
  return Stop(begin, ParamPath(), what + " is no parameter", "a parameter is a text or a number");
}

// What users write in JSON that is none.
std::string SyntaxHint(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "something is not closed: a quote, a bracket or a brace";
  const auto before = Trim(text.substr(0, at));
  const bool after_comma = !before.empty() && before.back() == ',';
  if ((text[at] == '}' || text[at] == ']') && after_comma) return "remove the comma before it";
  if (text[at] == '#') return "comments begin with // or stand between /* and */";
  if (text[at] == '\'') return "text stands in double quotes";
  if (text[at] == '"' && !before.empty() &&
      (before.back() == '"' || before.back() == '}' || before.back() == ']'))
    return "a comma is missing before it";
  return "";
}

bool Reader::parse_error(std::size_t, const std::string&, const json::exception& e) {
  std::string message = e.what();
  const auto syntax = message.find("syntax error");
  if (syntax != message.npos) message.erase(0, syntax);
  std::size_t at = read_ == 0 ? 0 : read_ - 1;
  if (message.find("end of input") != message.npos) at = text_.size();
  if (message.find("unexpected string literal") != message.npos) at = StringBegin();
  return Stop(at, "", Shown(message), SyntaxHint(text_, at));
}

std::size_t FirstBadByte(std::string_view text) {
  const std::string mended = ValidUtf8(text);
  return static_cast<std::size_t>(
      std::mismatch(text.begin(), text.end(), mended.begin(), mended.end()).first - text.begin());
}

void WarnOfEscapes(std::string_view text, const std::vector<std::size_t>& skipped, Document& doc) {
  if (skipped.empty()) return;
  const auto first = skipped[0];
  const std::string behind(text.substr(first + 1, 1));
  const bool ascii = (static_cast<unsigned char>(behind[0]) & 0x80) == 0;
  const std::string what = ascii ? "\"\\" + behind + "\"" : "a \"\\\" before this character";
  std::string more;
  if (skipped.size() > 1) more = " (" + std::to_string(skipped.size() - 1) + " more like it)";
  doc.warnings.insert({first, "",
                       what + " is no escape of JSON: it is read without the backslash" + more,
                       "leave the backslash out"});
}

}  // namespace

std::string Join2(const std::string& path, const std::string& key) {
  const std::string shown = Shown(key);
  return path.empty() ? shown : path + "." + shown;
}

std::string Shown(std::string_view text) {
  std::string out;
  for (char c : ValidUtf8(text.substr(0, 240)))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > 240 ? out + "..." : out;
}

bool Document::Full() const { return faults.size() >= kMaxFaults; }

void Document::Fault(const std::string& path, const std::string& message, const std::string& hint) {
  const auto at = where.find(path);
  if (!Full()) faults.insert({at == where.end() ? 0 : at->second, path, message, hint});
}

void Document::FaultAtKey(const std::string& path, const std::string& message,
                          const std::string& hint) {
  const auto at = key_where.find(path);
  if (!Full()) faults.insert({at == key_where.end() ? 0 : at->second, path, message, hint});
}

void Document::Warn(const std::string& path, const std::string& message, const std::string& hint) {
  const auto at = key_where.find(path);
  if (warnings.size() < kMaxFaults)
    warnings.insert({at == key_where.end() ? 0 : at->second, path, message, hint});
}

void Document::WarnOfUnknown(const std::string& path, const std::string& key) {
  if (++unknown_keys > kMostUnknown) {
    if (unknown_keys == kMostUnknown + 1)
      FaultAtKey(path, "more than " + std::to_string(kMostUnknown) + " keys that nobody knows",
                 "a JDL has the keys of docs/jdl.md");
    return;
  }
  const auto near = DidYouMean(key, KnownKeys());
  Warn(path, "nobody knows this key: it is kept, but has no effect",
       near ? "did you mean \"" + *near + "\"?" : "");
}

Document Read(std::string_view text) {
  Document doc;
  doc.has_text = true;
  if (text.size() > kMaxText) {
    doc.faults.insert({0, "",
                       "the JDL has " + std::to_string(text.size()) + " bytes, the limit is " +
                           std::to_string(kMaxText),
                       "give the parameters with param_file"});
    return doc;
  }
  if (!IsValidUtf8(text)) {
    doc.faults.insert({FirstBadByte(text), "", "the text is not UTF-8 from here on",
                       "convert it, e.g. with iconv -f latin1 -t utf8"});
    return doc;
  }
  const auto skipped = LoneBackslashes(text, kMaxSkipped);
  WarnOfEscapes(text, skipped, doc);
  std::size_t read = 0;
  Reader reader(text, read, doc);
  const CountingIterator begin{text.data(), &read, skipped.data(), skipped.data() + skipped.size()},
      end{text.data() + text.size(), &read, nullptr, nullptr};
  doc.whole = json::sax_parse(begin, end, &reader, json::input_format_t::json, true, true);
  return doc;
}

}  // namespace cigri::jdl
