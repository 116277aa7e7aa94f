#include "tools/gridsub/skip.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/text.h"
#include "jdl/command.h"

namespace cigri::gridsub {
namespace {

// Seq Host Starttime JobRuntime Send Receive Exitval Signal Command
constexpr std::size_t kSeq = 0, kExitval = 6, kSignal = 7, kColumns = 9;

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() < 16 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Task and whether it is done. One that failed first and then succeeded has two lines.
std::map<std::int64_t, bool> LoggedTasks(const std::string& joblog, bool done_only) {
  std::map<std::int64_t, bool> tasks;
  std::ifstream in(joblog, std::ios::binary);
  std::string line;
  for (int at = 1; std::getline(in, line); ++at) {
    const auto fields = Split(line, '\t');
    if (fields[kSeq] == "Seq" || line.empty()) continue;
    if (fields.size() < kColumns || !IsNumber(fields[kSeq]))
      throw Fatal(kExitBadInput, joblog + ":" + std::to_string(at) + ": this is no job log",
                  "--resume reads what --joblog wrote");
    const bool done = fields[kExitval] == "0" && fields[kSignal] == "0";
    if (done || !done_only) tasks[std::stoll(fields[kSeq])] |= done;
  }
  return tasks;
}

}  // namespace

Skipper::Skipper(SkipRules rules, const std::string& joblog, std::string directory)
    : rules_(std::move(rules)), directory_(std::move(directory)) {
  earlier_.seq = [this](std::int64_t n) { return SeqOf(n); };
  earlier_.table = rules_.resume || rules_.resume_failed;
  if (rules_.resume || rules_.resume_failed) logged_ = LoggedTasks(joblog, rules_.resume_failed);
}

bool Skipper::Skips(const std::vector<std::string>& columns,
                    const std::vector<std::string>& values) {
  ++seq_;
  const auto logged = logged_.find(seq_);
  bool skip = logged != logged_.end();
  if (skip && !logged->second) ++failed_;
  if (!skip && !rules_.creates.empty()) {
    std::error_code error;
    const std::filesystem::path path = jdl::FillText(rules_.creates, columns, values);
    skip = std::filesystem::exists(directory_ / path, error);
  }
  if (skip) {
    ++skipped_;
    if (rules_.files) earlier_.names.insert(tools::ResultFiles::FileName(values));
  } else {
    const auto n = seq_ - skipped_;
    if (runs_.empty() || runs_.back().second - runs_.back().first != seq_ - n)
      runs_.emplace_back(n, seq_);
  }
  return skip;
}

std::int64_t Skipper::SeqOf(std::int64_t n) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), n,
                              [](std::int64_t x, const auto& r) { return x < r.first; });
  if (run == runs_.begin()) return n;
  --run;
  return run->second + n - run->first;
}

std::string Renumbered(const std::string& text, const Skipper& skipper, bool untitled) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const auto tab = text.find('\t', at);
    const auto seq = text.substr(at, tab - at);
    if (IsNumber(seq))
      out += std::to_string(skipper.SeqOf(std::stoll(seq))) + text.substr(tab, end - tab);
    else if (!untitled || at > 0)
      out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace cigri::gridsub
