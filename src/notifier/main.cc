#include "core/error.h"
#include "notifier/notifier.h"

namespace {

int Main(int argc, char** argv) {
  cigri::notifier::Notifier notifier;
  return cigri::module::Run(argc, argv, {"notifier", "Sends notifications to their subscribers."},
                            [&](cigri::module::Step& step) { notifier.Pass(step); });
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("notifier", Main, argc, argv); }
