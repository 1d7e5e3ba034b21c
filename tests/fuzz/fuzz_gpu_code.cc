// Files that may hold GPU images, as `vramspan prove` looks through them.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/log.h"
#include "tools/prove/entries.h"
#include "tools/prove/images.h"
#include "tools/prove/kernel_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::prove;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const char* end = file.data();
  for (const Image& image : FindImages(file)) {
    VS_CHECK(image.bytes.data() >= end && !image.bytes.empty());
    end = image.bytes.data() + image.bytes.size();
    VS_CHECK(end <= file.data() + file.size());
    const auto entries = ReadEntries(image);
    if (!entries.ok()) {
      VS_CHECK(!entries.status().message().empty());
      continue;
    }
    for (const Entry& entry : *entries) {
      VS_CHECK(entry.packed.data() >= image.bytes.data() &&
               entry.packed.data() + entry.packed.size() <= end);
      // What a fuzzer has memory for.
      if (entry.size > uint64_t{64} << 20) continue;
      const auto code = Unpack(entry);
      if (!code.ok()) continue;
      for (const auto& names : {KernelsOfCubin(code->bytes).value_or(std::vector<std::string>{}),
                                KernelsOfPtx(code->bytes)}) {
        for (const std::string& name : names) VS_CHECK(!name.empty());
      }
    }
  }
  return 0;
}
