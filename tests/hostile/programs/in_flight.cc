// More launches in flight on one block than 16 bits count, while the driver is slow (simulated
// driver).
#include <dlfcn.h>

#include <cstdio>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(in_flight) {
  using SetDelay = int (*)(const char*, unsigned);
  const auto delay = reinterpret_cast<SetDelay>(dlsym(RTLD_DEFAULT, "simcudaSetDelay"));
  constexpr unsigned kRemap = 500000;  // Microseconds.
  Start();
  const auto blocks = Blocks(24);
  const CUstream stream = MakeStream();
  for (int r = 0; r < 6; ++r) AddToAll(blocks, stream);
  OK(cuCtxSynchronize());
  for (int i = 0; i < 4; ++i) {
    Add(blocks[0], 1, 0, stream);
    OK(cuStreamSynchronize(stream));
  }
  Nothing(blocks[0], stream);
  OK(cuStreamSynchronize(stream));
  delay("cuMemUnmap", kRemap);
  delay("cuMemSetAccess", kRemap);
  // There is room: what is hot comes back.
  for (size_t i = 8; i < blocks.size(); ++i) OK(cuMemFree(blocks[i]));
  for (int i = 0; i < 300000; ++i) Nothing(blocks[0], stream);
  OK(cuCtxSynchronize());
  std::printf("in order, %zu words are wrong\n", WrongWords(blocks[0], 6));
  return 0;
}
