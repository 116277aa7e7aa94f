#include "tools/common/examples.h"

namespace cigri::tools {
namespace {

struct Examples {
  const char* command;
  const char* lines;
};

// clang-format off
constexpr Examples kExamples[] = {
    {"gridstat",
     "  gridstat                          your campaigns that are not over\n"
     "  gridstat 12                       one of them: progress, expected end, failures\n"
     "  gridstat 12 --why                 why it waits, and what you can do\n"
     "  gridstat 12 --wait                wait for its end; exit code 1 when a task failed\n"
     "  gridstat 12 -O --follow           the output of its jobs, as they end\n"
     "  gridstat 12 --fetch out           all that it printed, in files; again: only what is new\n"
     "  gridstat -c 12 --params failed    the parameters that failed\n"
     "  gridstat -j 345 -E                what one job wrote to stderr\n"},
    {"griddel",
     "  griddel 12                        cancel a campaign, and kill its jobs\n"
     "  griddel 12 13 --pause             send nothing more; jobs that run go on\n"
     "  griddel 12 13 --resume            go on\n"
     "  griddel --job 345                 cancel one job; its task waits for you\n"
     "  griddel --purge 12                forget a campaign that is over\n"},
    {"gridmod",
     "  gridmod 12 -p high                before your other campaigns\n"
     "  gridmod 12 13 -p 0                suspend two campaigns\n"
     "  gridmod 12 --boost 4,10-20        these of its tasks go first\n"},
    {"gridevents",
     "  gridevents 12                     what is wrong with a campaign\n"
     "  gridevents -c 12 --fix            you have fixed it: go on\n"
     "  gridevents -c 12 --fix --resubmit and run the failed tasks again\n"
     "  gridevents -g                     open events of the grid\n"
     "  gridevents --explain EXIT_ERROR   what a code means, and what to do\n"},
    {"gridclusters",
     "  gridclusters                      the names of the clusters\n"
     "  gridclusters -i -u                with their state and free slots\n"
     "  gridclusters --why alpha -v       operators: what bounds us there\n"
     "  gridclusters --check alpha        operators: is it reachable, authorised, ...\n"},
    {"gridnotify",
     "  gridnotify -m me@example.org -s high\n"
     "  gridnotify --list\n"
     "  gridnotify -m me@example.org --unsubscribe\n"},
    {"gridtoken",
     "  gridtoken --list                  your tokens, with their expiry\n"
     "  gridtoken -i alpha -t -           register one, read from standard input\n"
     "  gridtoken -i alpha --remove\n"},
    {"gridadmin",
     "  gridadmin cluster add alpha --url https://alpha.example/oarapi\n"
     "  gridadmin drain alpha --reason \"new disks\" --until 2h\n"
     "  gridadmin resume alpha\n"
     "  gridadmin policy set policy=fairshare\n"
     "  gridadmin token add alice --days 90\n"
     "  gridadmin check                   is every task in exactly one place?\n"
     "  gridadmin drain --help            the options of one command\n"},
    {"gridadmin cluster",
     "  gridadmin cluster add alpha --url https://alpha.example/oarapi --kind oar2\n"
     "  gridadmin cluster check alpha --submit     run a test job too\n"
     "  gridadmin cluster limited alpha 10         at most 10 jobs at once\n"
     "  gridadmin cluster set alpha max_running= hours='Mon-Fri 20-8,Sat,Sun'\n"},
    {"gridadmin rule",
     "  gridadmin rule new no-night --file no-night.lua --mode warn\n"
     "  gridadmin rule test no-night --jdl my.jdl --user alice\n"
     "  gridadmin rule enable no-night\n"
     "  gridadmin rule history no-night\n"},
    {"gridadmin policy",
     "  gridadmin policy explain\n"
     "  gridadmin policy set policy=fairshare fairshare.half_life=604800\n"
     "  gridadmin policy shares --days 30\n"},
    {"gridadmin drain",
     "  gridadmin drain alpha --reason \"new disks\" --until 2h\n"
     "  gridadmin drain all --reason \"power cut\" --kill\n"},
    {"gridadmin affinity", "  gridadmin affinity set alice alpha 10\n"},
    {"gridadmin member", "  gridadmin member add alice project climate\n"},
    {"gridadmin mapping", "  gridadmin mapping set alice alpha al99\n"},
    {"gridadmin operator", "  gridadmin operator add alice\n"},
    {"gridadmin token",
     "  gridadmin token add alice --days 90\n"
     "  gridadmin token list\n"
     "  gridadmin token revoke 3\n"},
};
// clang-format on

}  // namespace

std::string ExamplesOf(const std::string& command) {
  for (const auto& examples : kExamples)
    if (command == examples.command) return std::string("\nExamples:\n") + examples.lines;
  return "";
}

}  // namespace cigri::tools
