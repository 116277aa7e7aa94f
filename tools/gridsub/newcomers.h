// Answers for those who know GNU parallel or Slurm and type what these would take.
#pragma once
#include <string>
#include <vector>

namespace cigri::gridsub {

/// Throws Fatal(kExitUsage) with the command that was meant: for ::: without --, and for options of
/// theirs that gridsub does not have. Looks at the words from `argv` + 1 to `end`.
void AnswerNewcomers(const char* const* argv, const char* const* end);

/// Throws Fatal(kExitUsage) when the first word is a program and no JDL: gridsub echo hello.
void AnswerPrograms(const std::vector<std::string>& words);

/// -j 4 with a program: GNU parallel's number of jobs, and no JDL. Said on stderr.
void TakeJobCount(std::vector<std::string>& jsons, int& max_jobs);

}  // namespace cigri::gridsub
