// The command line of GNU parallel: program {} ::: a b ::: 1 2, :::+, ::::, ::::+.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace cigri::gridsub {

/// What follows `--`.
struct ParallelForm {
  struct Source {
    bool from_file = false;  ///< :::: or ::::+ : `values` are names of files, "-" standard input
    bool linked = false;     ///< :::+ or ::::+ : goes with the source before it
    std::vector<std::string> values;
  };
  std::vector<std::string> words;  ///< the program and its arguments
  std::vector<Source> sources;     ///< none: the lines of standard input
};

/// Whether values follow the word: ::: and its like.
bool IsSource(const std::string& word);

/// Throws Fatal(kExitUsage) when there is no program, or a placeholder of parallel's that we lack.
ParallelForm ReadParallelForm(const std::vector<std::string>& words);

/// exec_file for these words. A word that is a placeholder alone stays bare; others are quoted, so
/// that the program gets them as the user typed them. One single word with blanks is a line for
/// the shell, as parallel's users write it.
std::string ExecFileOf(const std::vector<std::string>& words,
                       const std::vector<std::string>& columns);

/// Throws Fatal(kExitUsage) for a placeholder that was meant to be a column of `file` and is none:
/// {nome}. A name in braces that is far from every column stays where a language uses braces (awk).
void CheckPlaceholders(const std::vector<std::string>& words,
                       const std::vector<std::string>& columns, const std::string& file);

/// Calls `row` with every combination, in parallel's order: the last source changes fastest; a
/// linked source goes along with the one before it, and the shorter of the two ends both.
/// REQUIRES: every source holds values, not files.
void ForEachRow(const std::vector<ParallelForm::Source>& sources,
                const std::function<void(const std::vector<std::string>&)>& row);

}  // namespace cigri::gridsub
