// Answers for those who know GNU parallel or Slurm and type what these would take.
#pragma once
#include <string>
#include <vector>

namespace cigri::gridsub {

/// Throws Fatal(kExitUsage) with what does the same, for options of theirs that gridsub does not
/// have.
void AnswerNewcomers(const std::vector<std::string>& words);

/// Whether the word can be run and is no JDL: a program with its path or of $PATH, or a line for
/// the shell that begins with one.
bool IsRunnable(const std::string& word);

/// Throws Fatal(kExitUsage) when `name` is only a function that bash has exported.
void RefuseFunction(const std::string& name);

/// Says on stderr when `name` is a program of this folder, which jobs find as ./NAME alone.
void RemarkOnProgram(const std::string& name);

/// The words of a program. Throws Fatal(kExitUsage) when they begin with a JDL.
std::vector<std::string> ProgramOf(std::vector<std::string> words);

/// Throws Fatal(kExitUsage) when the first word is a program and no JDL: gridsub echo hello.
void AnswerPrograms(const std::vector<std::string>& words);

/// -j 4 with a program: GNU parallel's number of jobs, and no JDL. Said on stderr.
void TakeJobCount(std::vector<std::string>& jsons, int& max_jobs);

}  // namespace cigri::gridsub
