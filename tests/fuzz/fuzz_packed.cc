// Whatever `vramspan replay` is given: packed by gzip or zstd, or not at all, in whatever format.
#include "runtime/base/log.h"
#include "tests/fuzz/memory_file.h"
#include "tools/replay/load_run.h"
#include "tools/replay/text_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  constexpr uint64_t kMost = 1 << 20;
  const auto source = vramspan::replay::TextSource::Open(file.path(), kMost);
  if (source.ok()) {
    char some[1000];
    uint64_t all = 0;
    for (std::streamsize n; (n = (*source)->sgetn(some, sizeof(some))) > 0;) {
      all += static_cast<uint64_t>(n);
    }
    VS_CHECK(all <= kMost);
    // What could not be read is an error, and not just the end.
    VS_CHECK((*source)->status().ok() || (*source)->loss().empty());
  }
  const auto run = vramspan::replay::LoadRun(file.path());
  VS_CHECK(run.ok() || !run.status().message().empty());
  return 0;
}
