#include "tools/gridstat/fetch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/common/result_sinks.h"
#include "tools/common/terminal.h"
#include "tools/gridstat/archive.h"
#include "tools/gridstat/fetched_tasks.h"
#include "tools/gridstat/output.h"

namespace cigri::gridstat {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tools::TaskOutcome;

constexpr std::int64_t kTasksInFolder = 1000;
constexpr std::size_t kLongestValues = 180;  // file systems take 255 bytes

void MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path))
    throw Fatal(kExitBadInput, "cannot make the folder " + path + ": " + error.message());
}

// "12000/12345.VALUES": each task has its own name, without a list of those that are taken.
std::string NameOf(const TaskOutcome& outcome) {
  auto values = tools::ResultFiles::FileName(outcome.values);
  if (values.size() > kLongestValues) values = values.substr(0, kLongestValues) + "~";
  const auto block = outcome.task - outcome.task % kTasksInFolder;
  return std::to_string(block) + "/" + std::to_string(outcome.task) +
         (values.empty() ? "" : "." + values);
}

std::int64_t TaskOfName(const std::string& name) {
  return std::strtoll(name.c_str() + name.find('/') + 1, nullptr, 10);
}

// Files below a folder, and their marks in it.
class FetchSink : public tools::ResultSink {
 public:
  FetchSink(const std::string& folder, FetchedTasks& tasks)
      : folder_(folder), tasks_(tasks), files_(folder, [this](const TaskOutcome& outcome) {
          const auto name = NameOf(outcome);
          MakeFolder(folder_ + "/" + name.substr(0, name.find('/')));
          return name;
        }) {
    // The marks are locked: what is half written is of one that was killed.
    for (const auto& file : fs::directory_iterator(folder)) {
      std::error_code none;
      if (StartsWith(file.path().filename().string(), ".partial.")) fs::remove(file.path(), none);
    }
  }
  void Output(std::int64_t task, tools::Printed stream, std::string_view bytes) override {
    files_.Output(task, stream, bytes);
  }
  // What cannot be read now is left for the next time.
  void Outcome(const TaskOutcome& outcome) override {
    if (!outcome.unread.empty()) {
      files_.Cut();
      ++unread_;
      why_ = "job " + std::to_string(outcome.job) + ": " + outcome.unread;
      return;
    }
    files_.Outcome(outcome);
    tasks_.Mark(outcome.task, MarkOf(outcome));
    ++fetched_;
  }
  void Cut() override { files_.Cut(); }
  int unread() const { return unread_; }
  int fetched() const { return fetched_; }
  const std::string& why() const { return why_; }

 private:
  const std::string folder_;
  FetchedTasks& tasks_;
  tools::ResultFiles files_;
  int unread_ = 0, fetched_ = 0;
  std::string why_;
};

// Hands each outcome to a function.
class OutcomeSink : public tools::ResultSink {
 public:
  explicit OutcomeSink(std::function<void(const TaskOutcome&)> take) : take_(std::move(take)) {}
  void Outcome(const TaskOutcome& outcome) override { take_(outcome); }

 private:
  const std::function<void(const TaskOutcome&)> take_;
};

// A done task stays as it is. One that had failed may have run again since: its outcome tells.
void SkipWhatIsHere(tools::Api& api, std::int64_t campaign, const std::string& marks,
                    tools::ResultStream& stream) {
  tools::ResultStream failed(api, campaign, {});
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto mark = static_cast<TaskMark>(marks[i]);
    const auto task = static_cast<std::int64_t>(i);
    if (mark == kDone) stream.Skip(task);
    if (mark == kDone || mark == kNotHere) failed.Skip(task);
  }
  if (!marks.empty()) failed.Skip(static_cast<std::int64_t>(marks.size()));
  OutcomeSink sink([&](const TaskOutcome& outcome) {
    const auto at = static_cast<std::size_t>(outcome.task);
    if (at < marks.size() && static_cast<TaskMark>(marks[at]) == MarkOf(outcome))
      stream.Skip(outcome.task);
  });
  failed.FetchHoles(sink);
}

std::string CampaignLine(tools::Api& api, const GridstatOptions& o) {
  const json campaign =
      tools::Expect(api.Get("/campaigns/" + o.campaign), "fetch campaign " + o.campaign);
  return "cigri-fetch 1: campaign " + o.campaign + " submitted at " +
         campaign["submission_time"].dump();
}

// Fetches into `folder` what is neither there nor in `elsewhere`.
void FetchInto(tools::Api& api, const GridstatOptions& o, const std::string& elsewhere,
               FetchedTasks& tasks, FetchSink& sink) {
  const auto campaign = std::stoll(o.campaign);
  tools::ResultStream stream(api, campaign, {true, true, false});
  auto marks = elsewhere;
  marks.resize(std::max(marks.size(), tasks.marks().size()), '\0');
  for (std::size_t i = 0; i < tasks.marks().size(); ++i)
    if (tasks.marks()[i] != '\0') marks[i] = tasks.marks()[i];
  SkipWhatIsHere(api, campaign, marks, stream);
  marks.clear(), marks.shrink_to_fit();
  if (o.follow)
    FollowResults(api, o, stream, sink);
  else
    stream.Fetch(sink, true);
}

int Say(const FetchSink& sink, const std::string& marks, const std::string& where) {
  const auto here = std::count_if(marks.begin(), marks.end(), [](char m) { return m != '\0'; });
  std::printf("%s fetched; %s has %s\n", Pluralize(sink.fetched(), "new output").c_str(),
              where.c_str(), Pluralize(here, "output").c_str());
  if (sink.unread() == 0) return kExitOk;
  throw Fatal(kExitNo,
              "the output of " + Pluralize(sink.unread(), "task") + " cannot be read; " +
                  tools::Printable(sink.why()),
              "the same command tries these again");
}

int FetchFolder(tools::Api& api, const GridstatOptions& o) {
  const auto campaign = CampaignLine(api, o);
  MakeFolder(o.fetch);
  FetchedTasks tasks(o.fetch, campaign);
  FetchSink sink(o.fetch, tasks);
  FetchInto(api, o, "", tasks, sink);
  return Say(sink, tasks.marks(), o.fetch);
}

// New outputs gather in FILE.partial/, which a killed gridstat leaves to the next one. Then the
// archive is written again, with what it had, and takes its name.
int FetchArchive(tools::Api& api, const GridstatOptions& o) {
  const auto campaign = CampaignLine(api, o);
  const std::string folder = o.archive + ".partial", next = folder + "/.archive";
  const auto first = FirstEntry(o.archive);
  auto marks = first.empty() && !fs::exists(o.archive)
                   ? std::string()
                   : FetchedTasks::Parse(first, campaign, o.archive);
  MakeFolder(folder);
  FetchedTasks tasks(folder, campaign);
  FetchSink sink(folder, tasks);
  FetchInto(api, o, marks, tasks, sink);
  const auto& here = tasks.marks();
  marks.resize(std::max(marks.size(), here.size()), '\0');
  bool any = !fs::exists(o.archive);
  for (std::size_t i = 0; i < here.size(); ++i)
    if (here[i] != '\0') marks[i] = here[i], any = true;
  if (any) {
    WriteArchive(next, FetchedTasks::kFile, campaign + "\n" + marks, o.archive, folder,
                 [&](const std::string& name) { return tasks.Of(TaskOfName(name)) != kNotHere; });
    fs::rename(next, o.archive);
  }
  fs::remove(folder + "/" + FetchedTasks::kFile);  // first: a mark without its file says it is here
  fs::remove_all(folder);
  return Say(sink, marks, o.archive);
}

}  // namespace

int FetchOutputs(tools::Api& api, const GridstatOptions& o) {
  return o.archive.empty() ? FetchFolder(api, o) : FetchArchive(api, o);
}

}  // namespace cigri::gridstat
