#include "tools/common/options.h"

#include "tools/common/examples.h"

namespace cigri::tools {

void AddCommonOptions(CommandLine& line, CommonOptions& common) {
  line.AddFooter(ExamplesOf(line.name()));
  line.DescribeHelp("print this help and end");
  line.AddVersion(line.name() + " " CIGRI_VERSION, "print the version and end");
  line.Add({{"--api", &common.api,
             "the API: unix:PATH, http://HOST:PORT/BASE, ssh://HOST[/SOCKET] "
             "(default: $CIGRI_API, then the configuration, then the embedded grid)"},
            {"--color",
             &common.color,
             "auto, always or never",
             {.one_of = {"auto", "always", "never"}}}});
}

}  // namespace cigri::tools
