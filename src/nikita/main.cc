#include "core/error.h"
#include "nikita/nikita.h"

namespace {

int Main(int argc, char** argv) {
  cigri::nikita::Nikita nikita;
  return cigri::module::Run(argc, argv,
                            {"nikita", "Kills what should not run, and cleans what is old."},
                            [&](cigri::module::Step& step) { nikita.Pass(step); });
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("nikita", Main, argc, argv); }
