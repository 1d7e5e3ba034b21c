// A PyTorch execution trace and a profile of it. What comes out of any bytes holds together.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/log.h"
#include "tests/fuzz/bytes_buffer.h"
#include "tools/replay/import_pytorch.h"

namespace {

using namespace vramspan;  // NOLINT

void Check(const StatusOr<replay::PytorchImport>& import) {
  if (!import.ok()) return;
  const Status status = import->run.Check();
  VS_CHECK(status.ok());
}

}  // namespace

// The trace, a zero byte, and the profile; without one, no profile.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* const end = data + size;
  const uint8_t* const zero = std::find(data, end, uint8_t{0});
  std::optional<replay::PytorchProfile> profile;
  if (zero != end) {
    BytesBuffer text(zero + 1, static_cast<size_t>(end - zero - 1));
    StatusOr<replay::PytorchProfile> read = replay::ReadPytorchProfile(&text);
    if (read.ok()) profile = *std::move(read);
  }
  BytesBuffer text(data, static_cast<size_t>(zero - data));
  Check(replay::ReadPytorch(&text, std::move(profile)));
  return 0;
}
