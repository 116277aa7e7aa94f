#include "tools/gridstat/streams.h"

#include <cstdio>

#include "tools/gridstat/jobs.h"

namespace cigri::gridstat {
namespace {
constexpr std::int64_t kPage = 2000;
}

bool Put(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

void PrintJobs(tools::Api& api, const GridstatOptions& o) {
  const std::string path =
      "/campaigns/" + o.campaign + "/jobs?limit=" + std::to_string(kPage) + "&offset=";
  bool any = false;
  for (std::int64_t offset = o.offset.value_or(0);; offset += kPage) {
    const auto page = tools::Expect(api.Get(path + std::to_string(offset)),
                                    "list the jobs of campaign " + o.campaign);
    std::string text = any ? "" : " Jobs:\n";
    for (const auto& item : page["items"]) text += JobLine(item) + MeasuredLine(item);
    if (!any && page["items"].empty()) text += "No jobs to print\n";
    any = true;
    if (!Put(text) || offset + kPage >= page["total"].get<std::int64_t>()) return;
  }
}

std::size_t CopyOut(tools::Api& api, const std::string& path, const std::string& what) {
  bool reader = true;
  std::size_t copied = 0;
  tools::Answer answer;
  try {
    answer = api.Stream(path, [&](std::string_view bytes) {
      copied += bytes.size();
      return reader = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
    });
  } catch (const Fatal& e) {
    std::fflush(stdout);
    if (!reader) return copied;  // | head
    if (e.code() != kExitTryLater) throw;
    throw Fatal(kExitNo, "cannot " + what + " to its end: the API broke off",
                "what could be read is above; the log of the API says which job could not");
  }
  if (!answer.ok()) throw tools::Refused(answer, what);
  if (std::fflush(stdout) != 0) throw Fatal(kExitNo, "cannot write to standard output");
  return copied;
}

}  // namespace cigri::gridstat
