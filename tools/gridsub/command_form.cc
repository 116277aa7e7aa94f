#include "tools/gridsub/command_form.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/gridsub/inputs.h"
#include "tools/gridsub/launch.h"
#include "tools/gridsub/newcomers.h"
#include "tools/gridsub/parallel_form.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

std::vector<std::string> LinesOf(const std::string& path, char end) {
  Input input(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input.stream(), line, end);) {
    lines.push_back(line);
    if (const auto problem = jdl::LineProblem(line); !problem.empty())
      throw Fatal(kExitBadInput, input.name() + ":" + std::to_string(lines.size()) +
                                     ": a value cannot be used: " + problem);
  }
  return lines;
}

// `:::: a b` are two sources, as in parallel.
std::vector<ParallelForm::Source> PerFile(const std::vector<ParallelForm::Source>& sources) {
  std::vector<ParallelForm::Source> out;
  for (const auto& source : sources) {
    if (!source.from_file) {
      out.push_back(source);
      continue;
    }
    for (const auto& file : source.values) out.push_back({true, source.linked, {file}});
  }
  return out;
}

// Where the values come from, for messages.
std::string NameOf(const Args& args, const ParallelForm& form) {
  if (args.has_params()) return ParametersName(args);
  const auto sources = PerFile(form.sources);
  if (sources.empty()) return "standard input";
  if (sources.size() > 1 || !sources[0].from_file) return "values";
  return sources[0].values[0] == "-" ? "standard input" : sources[0].values[0];
}

// One list of values, with the rules for rows.
void AddList(Input* file, const std::vector<std::string>& values, const Args& args,
             LineSink& sink) {
  ValueRows rows(sink, args.rows);
  if (file != nullptr) rows.AddAll(*file);
  for (const auto& value : values) rows.Add(value, 0);
  rows.Finish();
}

void AddProduct(std::vector<ParallelForm::Source> sources, const Args& args, LineSink& sink) {
  if (args.rows.any())
    throw Fatal(kExitUsage, "--colsep and -N take one list of values, not several");
  for (auto& source : sources)
    if (source.from_file) source = {false, source.linked, LinesOf(source.values[0], args.rows.end)};
  ForEachRow(sources, [&](const std::vector<std::string>& row) {
    for (const auto& value : row)
      if (const auto problem = jdl::LineProblem(value); !problem.empty())
        throw Fatal(kExitBadInput, "a value cannot be used: " + problem + ": \"" +
                                       tools::CutTo(tools::Printable(value), 60) + "\"");
    sink.Add(jdl::EncodeValues(row), 0);
  });
}

void AddRows(const ParallelForm& form, const Args& args, LineSink& sink) {
  auto sources = PerFile(form.sources);
  if (sources.size() > 1) return AddProduct(std::move(sources), args, sink);
  if (!sources.empty() && !sources[0].from_file)
    return AddList(nullptr, sources[0].values, args, sink);
  Input input(sources.empty() ? "-" : sources[0].values[0]);  // streamed, not held
  AddList(&input, {}, args, sink);
}

std::vector<std::string> AddValues(const Args& args, const ParallelForm& form, LineSink& sink,
                                   const ColumnsSeen& seen) {
  if ((args.has_params() || args.once) && !form.sources.empty())
    throw Fatal(kExitUsage, "values come from ::: or from an option, not from both");
  if (args.once) {
    sink.Add("", 0);
    return {};
  }
  if (!args.param_file.empty()) {
    Input input(args.param_file);
    AddList(&input, {}, args, sink);
    return {};
  }
  if (args.has_params()) return AddParameters(args, LineUse::kValue, sink, seen);
  if (form.sources.empty() && isatty(STDIN_FILENO) == 1)
    std::fprintf(stderr,
                 "gridsub: reading values from the terminal, one on each line; end with "
                 "Ctrl-D\n");
  AddRows(form, args, sink);
  return {};
}

bool Names(const std::vector<std::string>& words, const std::string& text) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.find(text) != word.npos; });
}

// What was left out changes the numbers of the tasks behind it.
std::shared_ptr<Skipper> SkipperFor(const Args& args, const ParallelForm& form) {
  if (!args.skip.any()) return nullptr;
  const bool numbered = Names(form.words, "{#}") ||
                        args.skip.creates.find("{#}") != std::string::npos ||
                        args.directory.find("{#}") != std::string::npos;
  if (numbered)
    throw Fatal(kExitUsage, "{#} does not go with --creates and --resume: it would count from the start",
                "name results after their values: {} or {1}");
  const bool own = HasOwnDirectories(args);
  auto rules = args.skip;
  rules.files = !args.results.folder.empty();
  return std::make_shared<Skipper>(std::move(rules), args.joblog, own ? "." : DirectoryOf(args));
}

// "3 tasks are done already, 1 task has failed (--resume-failed runs it again)".
std::string LeftOut(const Skipper& skipper) {
  const auto failed = skipper.failed(), done = skipper.skipped() - failed;
  const auto text = Pluralize(done, "task is", "tasks are") + " done already";
  if (failed == 0) return text;
  return (done > 0 ? text + ", " : "") + Pluralize(failed, "task has", "tasks have") +
         " failed (--resume-failed runs " + (failed == 1 ? "it" : "them") + " again)";
}

[[noreturn]] void ThrowNothingToRun() {
  throw Fatal(kExitBadInput, "there are no values: nothing to run",
              "gridsub -- PROGRAM {} ::: VALUES, or --once for one run without values");
}

std::string TextOf(const json& jdl) {
  try {
    return jdl.dump();
  } catch (const json::type_error&) {
    throw Fatal(kExitBadInput, "the program, its directory and its columns must be UTF-8",
                "a file of another name is given as a value: gridsub -- PROGRAM {} ::: NAME");
  }
}

}  // namespace

CommandCampaign SourceOfCommand(tools::Api& api, const Args& args) {
  auto form = ReadParallelForm(*args.command);
  RemarkOnProgram(form.words[0]);
  form.words[0] = ProgramFrom(args, form.words[0]);
  CommandCampaign made;
  made.skipper = SkipperFor(args, form);
  LineSink sink(api, NameOf(args, form));
  json jdl = LaunchJdl(api, args, std::filesystem::path(Split(form.words[0], ' ')[0]).filename());
  std::vector<std::string> columns;
  if (made.skipper)
    sink.LeaveOut([&](std::string_view line) {
      return made.skipper->Skips(columns, jdl::DecodeValues(line));
    });
  made.payload.columns = AddValues(args, form, sink, [&](const std::vector<std::string>& names) {
    columns = names;
    CheckPlaceholders(form.words, names, ParametersName(args));
    CheckPlaceholders({args.directory, args.skip.creates}, names, ParametersName(args));
  });
  // Without values there is nothing to put in: the shell reads the line as it stands.
  made.payload.format = std::string(args.once ? jdl::kFormatLine : jdl::kFormatValues);
  if (sink.size() == 0 && made.skipper && made.skipper->skipped() > 0) {
    std::fprintf(stderr, "gridsub: nothing to run: %s\n", LeftOut(*made.skipper).c_str());
    return made;
  }
  if (sink.size() == 0) ThrowNothingToRun();
  if (made.skipper && made.skipper->skipped() > 0)
    std::fprintf(stderr, "gridsub: %s, left: %lld\n", LeftOut(*made.skipper).c_str(),
                 static_cast<long long>(sink.size()));
  columns = made.payload.columns;
  jdl["exec_file"] = ExecFileOf(form.words, columns);
  if (HasOwnDirectories(args)) jdl["exec_file"] = InOwnDirectory(args, jdl["exec_file"], columns);
  jdl["format"] = made.payload.format;
  if (!columns.empty()) jdl["columns"] = columns;
  made.payload.positions = sink.positions();
  // Rows in the text of a JDL have one length; the last of -N may be shorter.
  if (sink.uploaded() || args.rows.any()) {
    made.payload.upload = sink.ForceUpload();
  } else {
    jdl["params"] = json::array();  // a few: one call less than an upload
    for (const auto& line : sink.Held())
      jdl["params"].push_back(args.once ? json(line) : json(jdl::DecodeValues(line)));
    made.payload.columns.clear();
  }
  JdlSource source;
  source.text = TextOf(jdl);
  jdl::Options options;
  options.uploaded = made.payload.upload.has_value();
  source.checked = jdl::Parse(source.text, jdl::Defaults(), options);
  for (auto& fault : source.checked.faults) fault.line = 0;  // nobody wrote this text
  PrintFaults(source.checked.faults, "gridsub");
  if (source.checked.ok())
    made.source = std::move(source);
  else
    made.exit_code = kExitBadInput;
  return made;
}

}  // namespace cigri::gridsub
