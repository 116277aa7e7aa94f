// logging_proxy LISTEN SERVER: passes HTTP on and prints the first words of each request
// ("GET /jobs/1.json"). Addresses: the path of a unix socket, or a port of 127.0.0.1 ("0": any).
// Its first line is the port it listens on. Ends with its standard input.
#include <unistd.h>

#include <cstdio>

#include "tests/support/cutting_proxy.h"

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  cigri::test::CuttingProxy proxy(argv[1], argv[2]);
  std::printf("%d\n", proxy.port());
  std::fflush(stdout);
  proxy.Print(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  std::fflush(stdout);
  _exit(0);
}
