// The text of nvdisasm, as `vramspan prove` reads it.
#include <cstdint>
#include <string_view>

#include "runtime/base/log.h"
#include "tools/prove/code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::prove;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const KernelReading& reading : ReadKernels(text)) {
    VS_CHECK(reading.proven == reading.why.empty());
  }
  return 0;
}
