#include "tools/gridsub/newcomers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "core/text.h"

namespace cigri::gridsub {
namespace {

struct Equivalent {
  const char* options;  ///< separated by blanks
  const char* instead;
};
constexpr Equivalent kEquivalents[] = {
    {"-S --sshlogin --sshloginfile --slf", "--clusters a,b chooses them; gridclusters lists them"},
    {"-P --max-procs --jobs", "the clusters decide; --max-jobs 4 is the most on each of them"},
    {"--transferfile --return --cleanup --trc --basefile --bf",
     "--inputs 'data/{}' and --outputs 'out -> out/{#}' copy the files of each job"},
    {"--pipe --pipepart --spreadstdin", "split FILE part.; gridsub -- PROGRAM {} ::: part.*"},
    {"-X -m --xargs -L --max-lines --max-replace-args -s --max-chars",
     "-N 10 gives ten values to each task"},
    {"-I --replace -U --rpl --plus",
     "a value stands at {}, {.}, {/}, {//}, {/.}, {1}, and at {column} with --csv"},
    {"-C", "--colsep , splits each value"},
    {"--link --xapply", "::: a b :::+ c d pairs the values"},
    {"--arg-file", "-a FILE"},
    {"--trim", "--colsep leaves out the blanks around columns"},
    {"-r --no-run-if-empty", "not needed: without values nothing runs (exit code 65)"},
    {"--quote", "not needed: each argument reaches the program as typed"},
    {"-v --verbose", "--dry-run prints the first commands"},
    {"--delay", "--start-rate 30 starts 30 jobs a minute on each cluster"},
    {"--halt --halt-on-error",
     "a program that cannot work is stopped after ten failures on a cluster; griddel N stops all"},
    {"--nice", "--priority low goes behind your other campaigns"},
    {"--load", "the cluster decides; --start-rate 30 starts 30 jobs a minute on each"},
    {"--memfree --noswap", "the cluster decides; --mem 4G asks for memory"},
    {"--shuf", "shuf FILE | gridsub -- PROGRAM {}"},
    {"--header", "gridsub --csv FILE reads the names of columns from its first line"},
    {"--line-buffer --linebuffer --lb --ungroup -u --group",
     "-O prints what a task wrote when it ends; gridstat -j JOB -O --follow while it runs"},
    {"--semaphore --sem --fg --bg", "gridsub returns at once; --wait waits"},
    {"--will-cite --citation --tmpdir --tempdir --compress", "not needed"},
    {"--tagstring", "--tag puts the values before each line"},
    {"--tty --tmux --interactive", "a job has no terminal: gridstat -j JOB -O --follow shows it"},
    {"--job-name", "--name NAME"},
    {"--array", "gridsub -- PROGRAM {} ::: $(seq 100), or nb_jobs in a JDL"},
    {"--slot --slots", "--cores 4"},
    {"--gres", "--gpus 1"},
    {"--chdir", "--directory FOLDER"},
    {"--export", "--env NAME carries a variable, --env-all the whole environment"},
    {"--mem-per-cpu", "--mem 4G is of the whole job"},
    {"--ntasks", "--cores 4 on one node, --resources /nodes=2/core=4 on several"},
    {"--error --files", "--results FOLDER has a file for each task"},
};

bool IsRegularFile(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool IsInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (path == nullptr || name.empty() || name.find('/') != name.npos) return false;
  for (const auto& folder : Split(path, ':'))
    if (IsRegularFile(folder + "/" + name) && access((folder + "/" + name).c_str(), X_OK) == 0)
      return true;
  return false;
}

// A script or a binary, whatever its rights.
bool IsProgramFile(const std::string& path) {
  if (!IsRegularFile(path)) return false;
  char head[4] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return StartsWith({head, 2}, "#!") || StartsWith({head, 4},
                                                   "\x7f"
                                                   "ELF");
}

bool IsProgram(const std::string& word) {
  return IsProgramFile(word) || (!IsRegularFile(word) && IsInPath(word));
}

// The word as one types it for a shell.
std::string AsTyped(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`;&|<>()*?[]#~!") == word.npos;
  return plain ? word : ShellQuote(word);
}

}  // namespace

bool IsRunnable(const std::string& word) {
  if (const auto blank = word.find(' '); blank != word.npos)
    return !IsRegularFile(word) && IsRunnable(word.substr(0, blank));
  if (word.find('/') == word.npos) return !IsRegularFile(word) && IsInPath(word);
  return IsProgramFile(word) && access(word.c_str(), X_OK) == 0;
}

void RefuseFunction(const std::string& name) {
  if (!IsRunnable(name) && std::getenv(("BASH_FUNC_" + name + "%%").c_str()) != nullptr)
    throw Fatal(kExitUsage, name + " is a function of your shell, which jobs do not have",
                "write it into a script");
}

void RemarkOnProgram(const std::string& name) {
  if (name.find('/') == name.npos && !IsInPath(name) && IsProgramFile(name))
    std::fprintf(stderr, "gridsub: %s is here and not in $PATH: jobs find it as ./%s\n",
                 name.c_str(), name.c_str());
}

std::vector<std::string> ProgramOf(std::vector<std::string> words) {
  if (!words.empty() && IsRegularFile(words[0]) && !IsProgramFile(words[0]))
    throw Fatal(kExitUsage, words[0] + " is no program, which ::: gives values to",
                "-a FILE and -J TEXT give a JDL its parameters");
  return words;
}

void AnswerNewcomers(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word.size() < 2 || word[0] != '-') continue;
    const bool attached = word[1] != '-' && word.size() > 2;  // -P4
    const auto name = attached ? word.substr(0, 2) : word.substr(0, word.find('='));
    for (const auto& known : kEquivalents)
      for (const auto& option : Split(known.options, ' '))
        if (name == option)
          throw Fatal(kExitUsage, option + " is not an option here", known.instead);
  }
}

void AnswerPrograms(const std::vector<std::string>& words) {
  if (words.empty() || (!IsProgram(words[0]) && !IsRunnable(words[0]))) return;
  const bool here = IsRegularFile(words[0]), path = words[0].find('/') != words[0].npos;
  std::vector<std::string> typed;
  for (const auto& word : words) typed.push_back(AsTyped(word));
  const std::string once = (here && !path ? "./" : "") + Join(typed, " ");
  std::string each = once;
  if (once.find('{') == once.npos)
    each = words.size() == 1 && once != words[0] && !here ? ShellQuote(words[0] + " {}")  // a line
                                                          : once + " {}";
  if (here && access(words[0].c_str(), X_OK) != 0)
    throw Fatal(kExitUsage, words[0] + " is a program, and no JDL; it may not be run",
                "chmod +x " + words[0] + "; then gridsub -- " + each + " ::: VALUES");
  throw Fatal(
      kExitUsage, words[0] + " is a program, and no JDL",
      "run it for each value: gridsub -- " + each + " ::: VALUES; once: gridsub --once -- " + once);
}

void TakeJobCount(std::vector<std::string>& jsons, int& max_jobs) {
  if (jsons.size() != 1 || jsons[0].empty()) return;
  const auto& text = jsons[0];
  if (text.find_first_not_of("0123456789%+") != text.npos || text.size() > 6) return;
  const bool number = text.find_first_of("%+") == text.npos;
  const int n = number ? std::stoi(text) : 0;
  if (n > 0) {
    max_jobs = n;
    std::fprintf(stderr, "gridsub: -j %d: at most %d jobs at once on each cluster (--max-jobs)\n",
                 n, n);
  } else {
    std::fprintf(stderr, "gridsub: -j %s: the clusters decide how many jobs run\n", text.c_str());
  }
  jsons.clear();
}

}  // namespace cigri::gridsub
