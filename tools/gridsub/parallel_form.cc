#include "tools/gridsub/parallel_form.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/pattern.h"
#include "core/text.h"
#include "jdl/command.h"
#include "tools/gridsub/newcomers.h"

namespace cigri::gridsub {
namespace {

// What parallel knows and we do not must not reach a program as it stands.
void RefuseUnknownPlaceholders(const std::vector<std::string>& words) {
  for (const auto& word : words)
    for (const char* unknown :
         {"{%}", "{##}", "{= ", "{=}", "{+}", "{...}", "{..}", "{+/}", "{+.}"})
      if (word.find(unknown) != word.npos)
        throw Fatal(kExitUsage, "the placeholder " + std::string(unknown) + " is not supported",
                    "there are {} {.} {/} {//} {/.} {#} {1} {2.} ... and {column} with --csv");
  static const Pattern kFromTheEnd("\\{-[0-9]+(//|/\\.|/|\\.)?\\}");
  for (const auto& word : words)
    if (const auto found = kFromTheEnd.Find(word))
      throw Fatal(kExitUsage, "the placeholder " + found.Text(0) + " is not supported",
                  "write the value's number from the first: {2} is the last one of two");
}

// One axis of the product: a source with those linked to it, as rows.
using Axis = std::vector<std::vector<std::string>>;

std::vector<Axis> AxesOf(const std::vector<ParallelForm::Source>& sources) {
  std::vector<Axis> axes;
  for (const auto& source : sources) {
    if (!source.linked || axes.empty()) {
      Axis axis;
      for (const auto& value : source.values) axis.push_back({value});
      axes.push_back(std::move(axis));
      continue;
    }
    Axis& axis = axes.back();
    axis.resize(std::min(axis.size(), source.values.size()));
    for (std::size_t i = 0; i < axis.size(); ++i) axis[i].push_back(source.values[i]);
  }
  return axes;
}

// The program has braces of its own.
bool UsesBraces(const std::vector<std::string>& words) {
  static const Pattern kLanguages("(^|[ /|;&(])([gmn]?awk|perl|jq|sed)( |$)");
  return std::any_of(words.begin(), words.end(),
                     [](const auto& word) { return static_cast<bool>(kLanguages.Find(word)); });
}

std::optional<std::string> NearColumn(const std::string& name,
                                      const std::vector<std::string>& columns) {
  for (const auto& column : columns)
    if (Lower(column) == Lower(name)) return column;
  return DidYouMean(name, columns);
}

}  // namespace

bool IsSource(const std::string& word) {
  return word == ":::" || word == ":::+" || word == "::::" || word == "::::+";
}

ParallelForm ReadParallelForm(const std::vector<std::string>& words) {
  ParallelForm form;
  for (const auto& word : words) {
    if (IsSource(word))
      form.sources.push_back({StartsWith(word, "::::"), word.back() == '+', {}});
    else if (form.sources.empty())
      form.words.push_back(word);
    else
      form.sources.back().values.push_back(word);
  }
  if (form.words.empty() || form.words[0].empty())
    throw Fatal(kExitUsage, "there is no program", "like: gridsub -- wc -c {} ::: *.md");
  RefuseFunction(form.words[0].substr(0, form.words[0].find_first_of(" \t\n;|&<>")));
  if (!form.sources.empty() && form.sources[0].linked)
    throw Fatal(kExitUsage, "the first source of values cannot be linked", "write ::: or ::::");
  RefuseUnknownPlaceholders(form.words);
  return form;
}

std::string ExecFileOf(const std::vector<std::string>& words,
                       const std::vector<std::string>& columns) {
  if (words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos) return words[0];
  std::vector<std::string> quoted;
  for (const auto& word : words) {
    const auto found = jdl::Placeholders(word, columns);
    const bool alone = found.size() == 1 && found[0] == word;
    quoted.push_back(alone ? word : ShellQuote(word));
  }
  return Join(quoted, " ");
}

void CheckPlaceholders(const std::vector<std::string>& words,
                       const std::vector<std::string>& columns, const std::string& file) {
  static const Pattern kNamed("\\{([A-Za-z_][A-Za-z0-9_-]*)(//|/\\.|/|\\.)?\\}");
  const bool braces = UsesBraces(words);
  for (const auto& word : words)
    for (auto found = kNamed.Find(word); found;
         found = kNamed.Find(word, found.at + found.group[0].size())) {
      const std::string name = found.Text(1), placeholder = found.Text(0);
      if (!jdl::Placeholders(placeholder, columns).empty() || name == "HOME" ||
          name == "CAMPAIGN_ID")
        continue;
      const auto near = NearColumn(name, columns);
      if (!near && braces) continue;
      throw Fatal(kExitUsage, placeholder + " is no column of " + file,
                  (near ? "did you mean {" + *near + "}? " : "") + "the columns are " +
                      Join(columns, ", "));
    }
}

void ForEachRow(const std::vector<ParallelForm::Source>& sources,
                const std::function<void(const std::vector<std::string>&)>& row) {
  const auto axes = AxesOf(sources);
  if (std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return a.empty(); })) return;
  std::vector<std::size_t> at(axes.size(), 0);
  for (;;) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < axes.size(); ++i)
      values.insert(values.end(), axes[i][at[i]].begin(), axes[i][at[i]].end());
    row(values);
    std::size_t i = axes.size();
    while (i > 0 && ++at[i - 1] == axes[i - 1].size()) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace cigri::gridsub
