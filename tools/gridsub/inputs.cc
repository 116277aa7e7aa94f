#include "tools/gridsub/inputs.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/text.h"
#include "jdl/jdl.h"
#include "tools/gridsub/csv.h"

namespace cigri::gridsub {
namespace {

std::string Home() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  const passwd* pw = getpwuid(geteuid());
  return pw == nullptr ? "/" : pw->pw_dir;
}

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// $VAR and ${VAR} of the user's environment.
std::string WithVariables(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool braced = text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{';
    std::size_t end = i + (braced ? 2 : 1);
    while (text[i] == '$' && end < text.size() && IsNameChar(text[end])) ++end;
    const std::string name = text.substr(i, end - i).substr(braced ? 2 : 1);
    if (text[i] != '$' || name.empty() || (braced && (end == text.size() || text[end] != '}'))) {
      out += text[i++];
      continue;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr)
      throw Fatal(kExitBadInput, "$" + name + " of \"" + text + "\" is not set");
    out += value;
    i = end + (braced ? 1 : 0);
  }
  return out;
}

void AddLine(std::string_view line, LineUse use, std::int64_t at, LineSink& sink) {
  if (use == LineUse::kJdl) return sink.Add(Trim(line), at);
  // JSON hides a NUL: the sink looks at such a line as it stands.
  const std::string text(line);
  sink.Add(jdl::LineProblem(line).empty() ? jdl::EncodeValues({text}) : text, at);
}

}  // namespace

Input::Input(const std::string& path) : stream_(&std::cin), name_("standard input") {
  if (path == "-") return;
  name_ = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw Fatal(kExitBadInput, "cannot read " + path + ": it is a directory");
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw Fatal(kExitBadInput, "cannot read " + path + ": " + std::strerror(errno));
  stream_ = file.get();
  owned_ = std::move(file);
}

std::string Input::ReadAll(std::size_t limit) {
  std::string text;
  char buffer[65536];
  while (stream_->read(buffer, sizeof buffer), stream_->gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(stream_->gcount()));
    if (text.size() > limit)
      throw Fatal(kExitBadInput, name_ + " has more than " + std::to_string(limit) + " bytes",
                  "give the parameters one on each line, with -a FILE or param_file");
  }
  return text;
}

std::string ParamFilePath(const std::string& text, const std::string& jdl_file) {
  std::string path = text;
  if (path == "~" || StartsWith(path, "~/")) path.replace(0, 1, Home());
  path = WithVariables(ReplaceAll(path, "{HOME}", Home()));
  const auto folder = std::filesystem::path(jdl_file).parent_path();
  return (folder / path).string();  // an absolute path stays what it is
}

namespace {

// `begun`: what was read of the stream already.
void AddLinesFrom(const std::string& begun, Input& input, LineUse use, LineSink& sink) {
  auto lines = Split(begun, '\n');
  const std::string beginning = lines.back();
  lines.pop_back();
  std::int64_t at = 1;
  for (const auto& line : lines) AddLine(line, use, at++, sink);
  std::string rest;
  const bool more = static_cast<bool>(std::getline(input.stream(), rest));
  if (more || !beginning.empty()) AddLine(beginning + rest, use, at++, sink);
  for (; more && std::getline(input.stream(), rest); ++at) AddLine(rest, use, at, sink);
}

}  // namespace

void AddLines(Input& input, LineUse use, LineSink& sink) { AddLinesFrom("", input, use, sink); }

std::vector<std::string> AddCsv(Input& input, char delimiter, LineSink& sink,
                                const ColumnsSeen& seen) {
  CsvReader reader(input.stream(), input.name(), delimiter);
  if (seen) seen(reader.columns());
  std::vector<std::string> row;
  while (reader.Next(row)) {
    for (const auto& value : row)
      if (const auto problem = jdl::LineProblem(value); !problem.empty())
        throw Fatal(kExitBadInput, input.name() + ":" + std::to_string(reader.line()) +
                                       ": a value cannot be used: " + problem);
    sink.Add(jdl::EncodeValues(row), reader.line());
  }
  return reader.columns();
}

namespace {

std::string ParameterText(const nlohmann::json& value, const std::string& place) {
  if (!value.is_string() && !value.is_number())
    throw Fatal(kExitBadInput, place + " is no text and no number");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

void AddJson(const std::string& text, const std::string& name, LineUse use, LineSink& sink) {
  nlohmann::json array;
  try {
    array = nlohmann::json::parse(text, nullptr, true, true);
  } catch (const nlohmann::json::exception& e) {
    const std::string what = e.what();
    const auto at = what.find("] ");
    throw Fatal(kExitBadInput, name + ": " + std::string(what.substr(at == what.npos ? 0 : at + 2)),
                "a JSON array of parameters looks like [\"first\", \"second\"]");
  }
  if (!array.is_array())
    throw Fatal(kExitBadInput, name + ": is no JSON array of parameters",
                "like [\"first\", \"second\"]");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string place = name + ": [" + std::to_string(i) + "]";
    if (array[i].is_array() && use == LineUse::kValue) {
      std::vector<std::string> row;
      for (const auto& value : array[i]) row.push_back(ParameterText(value, place));
      for (const auto& value : row)
        if (const auto problem = jdl::LineProblem(value); !problem.empty())
          throw Fatal(kExitBadInput, place + ": a value cannot be used: " + problem);
      sink.Add(jdl::EncodeValues(row), 0);
      continue;
    }
    const auto line = ParameterText(array[i], place);
    const bool encode = use == LineUse::kValue && jdl::LineProblem(line).empty();
    sink.Add(encode ? jdl::EncodeValues({line}) : line, 0);
  }
}

void AddJobFile(Input& input, LineUse use, LineSink& sink) {
  std::string blanks;
  while (std::isspace(input.stream().peek()) != 0)
    blanks += static_cast<char>(input.stream().get());
  if (input.stream().peek() == '[')
    AddJson(input.ReadAll(jdl::kMaxText), input.name(), use, sink);
  else
    AddLinesFrom(blanks, input, use, sink);
}

std::vector<std::string> AddParameters(const Args& args, LineUse use, LineSink& sink,
                                       const ColumnsSeen& seen) {
  if (!args.csv.empty()) {
    Input input(args.csv);
    const char delimiter = args.delimiter.empty() ? '\0' : DelimiterOf(args.delimiter);
    return AddCsv(input, delimiter, sink, seen);
  }
  if (!args.jsonjob.empty()) {
    AddJson(args.jsonjob, ParametersName(args), use, sink);
  } else if (!args.jobfile.empty()) {
    Input input(args.jobfile);
    AddJobFile(input, use, sink);
  } else if (!args.param_file.empty()) {
    Input input(args.param_file);
    AddLines(input, use, sink);
  }
  return {};
}

std::string ParametersName(const Args& args) {
  if (!args.jsonjob.empty()) return "--jsonjob";
  for (const auto* name : {&args.csv, &args.jobfile, &args.param_file})
    if (!name->empty()) return *name == "-" ? "standard input" : *name;
  return "parameters";
}

}  // namespace cigri::gridsub
