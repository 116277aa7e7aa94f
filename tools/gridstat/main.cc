#include "core/error.h"
#include "tools/gridstat/stat.h"

int main(int argc, char** argv) {
  return cigri::RunMain("gridstat", cigri::gridstat::Main, argc, argv);
}
