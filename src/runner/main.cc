// runner: submits to the clusters what the plan grants. Each host has one, whoever leads: the
// almighty that leads wakes all of them after each plan, and waits for none.
#include "core/error.h"
#include "runner/runner.h"

namespace {

int Main(int argc, char** argv) {
  cigri::runner::Runner runner;
  const int code =
      cigri::module::Run(argc, argv,
                         {.name = "runner",
                          .description = "submits what the plan grants to the clusters",
                          .loop_every = std::chrono::seconds(30),
                          .notices = {"cigri_grants"},
                          .on_each_host = true},
                         [&](cigri::module::Step& step) { runner.Pass(step); });
  std::_Exit(code);  // a thread may await an answer: the next runner looks up its batch
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("runner", Main, argc, argv); }
