// Writes nothing to stderr itself, which is a pipe whose reader has gone, or one that nobody reads
// (`full`).
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(broken_pipe) {
  const bool full = argc > 1 && std::string(argv[1]) == "full";
  int ends[2];
  if (pipe(ends) != 0) return 1;
  if (full) {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1) continue;
    fcntl(ends[1], F_SETFL, 0);
  } else {
    close(ends[0]);
  }
  dup2(ends[1], 2);
  close(ends[1]);
  Start();
  const auto blocks = Blocks(32);
  AddToAll(blocks, nullptr);
  OK(cuCtxSynchronize());
  std::printf("the program's work is done\n");
  return 0;
}
