#include "core/error.h"
#include "predictor/predictor.h"

namespace {

int Main(int argc, char** argv) {
  cigri::predictor::Predictor predictor;
  return cigri::module::Run(argc, argv, {"predictor", "Job ratios, and when campaigns will end."},
                            [&](cigri::module::Step& step) { predictor.Pass(step); });
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("predictor", Main, argc, argv); }
