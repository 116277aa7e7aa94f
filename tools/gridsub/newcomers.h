// Answers for those who know GNU parallel or Slurm and type what these would take.
#pragma once
#include <string>
#include <vector>

namespace cigri::gridsub {

/// Throws Fatal(kExitUsage) with what does the same, for options of theirs that gridsub does not
/// have.
void AnswerNewcomers(const std::vector<std::string>& words);

/// Whether values of a program follow: ::: and its like.
bool IsSource(const std::string& word);

/// The program that ::: follows. Throws Fatal(kExitUsage) when it is a JDL.
std::vector<std::string> ProgramWithValues(std::vector<std::string> words);

/// Throws Fatal(kExitUsage) when the first word is a program and no JDL: gridsub echo hello.
void AnswerPrograms(const std::vector<std::string>& words);

/// -j 4 with a program: GNU parallel's number of jobs, and no JDL. Said on stderr.
void TakeJobCount(std::vector<std::string>& jsons, int& max_jobs);

}  // namespace cigri::gridsub
