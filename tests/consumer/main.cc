// A C++ program on the installed package: data through twice the device's memory and back.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "examples/driver.h"
#include "vramspan/vramspan.hpp"

int main() {
  try {
    const examples::Driver driver;
    const examples::Context context(driver);
    const vramspan::Runtime runtime({.device_memory = "8MiB", .quiet = true});

    constexpr size_t kCount = (4 << 20) / sizeof(uint32_t);
    std::vector<vramspan::Buffer<uint32_t>> buffers;
    std::vector<std::vector<uint32_t>> host;
    for (uint32_t b = 0; b < 4; ++b) {
      buffers.push_back(runtime.alloc<uint32_t>(kCount));
      host.emplace_back(kCount);
      for (size_t i = 0; i < kCount; ++i) host.back()[i] = b * 1000003u + static_cast<uint32_t>(i);
      runtime.upload(context.stream, buffers.back(), host.back(), driver.MemcpyHtoDAsync);
    }
    std::vector<uint32_t> back(kCount);
    for (size_t b = 0; b < buffers.size(); ++b) {
      runtime.download(context.stream, back, buffers[b], driver.MemcpyDtoHAsync);
      driver.Check(driver.StreamSynchronize(context.stream), "cuStreamSynchronize");
      if (back != host[b]) {
        std::fprintf(stderr, "consumer_cpp: buffer %zu came back changed\n", b);
        return 1;
      }
    }
    runtime.synchronize();
    std::printf("consumer_cpp: right, with vramspan %s\n", vramspan::version());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer_cpp: %s\n", error.what());
    return 1;
  }
}
