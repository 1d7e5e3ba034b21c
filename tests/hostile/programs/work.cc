// Plain work over `work BLOCKS`, each word checked.
#include <cstdio>
#include <cstdlib>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(work) {
  Start();
  const auto blocks = Blocks(static_cast<size_t>(std::atoi(argc > 1 ? argv[1] : "16")));
  const CUstream stream = MakeStream();
  for (int round = 0; round < 3; ++round) AddToAll(blocks, stream);
  OK(cuStreamSynchronize(stream));
  size_t wrong = 0;
  for (const CUdeviceptr block : blocks) wrong += WrongWords(block, 3);
  std::printf("%zu words are wrong\n", wrong);
  return wrong != 0;
}
