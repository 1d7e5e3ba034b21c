// A trace of libCacheSim's. What comes out of any bytes holds together.
#include "runtime/base/log.h"
#include "tests/fuzz/bytes_buffer.h"
#include "tools/replay/oracle_general.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  BytesBuffer bytes(data, size);
  const vramspan::StatusOr<vramspan::replay::RecordedRun> run =
      vramspan::replay::ReadOracleGeneral(&bytes);
  if (run.ok()) {
    const vramspan::Status status = run->Check();
    VS_CHECK(status.ok());
  }
  return 0;
}
