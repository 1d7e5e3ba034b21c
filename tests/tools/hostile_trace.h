// Traces as nobody's program writes them, but somebody may.
#ifndef VRAMSPAN_TESTS_TOOLS_HOSTILE_TRACE_H_
#define VRAMSPAN_TESTS_TOOLS_HOSTILE_TRACE_H_

#include <fstream>
#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/trace/block.h"
#include "runtime/trace/encoder.h"
#include "tests/tools/run_binary.h"

namespace vramspan {

class HostileTrace {
 public:
  explicit HostileTrace(const trace::Header& header = {}) : bytes_(trace::PackHeader(header)) {}

  // A block of events as their bytes are, `times` over.
  HostileTrace& Raw(const std::vector<uint8_t>& raw, uint32_t events, int times = 1) {
    trace::BlockPacker packer;
    for (int i = 0; i < times; ++i) {
      const auto frames = packer.Pack({.number = number_++, .events = events}, raw);
      VS_CHECK(frames.ok());
      bytes_.append(frames->begin(), frames->end());
    }
    return *this;
  }
  HostileTrace& Events(const std::vector<trace::Event>& events, int times = 1) {
    trace::Encoder encoder;
    encoder.Start(0);
    for (const trace::Event& event : events) {
      std::visit([&](const auto& e) { encoder.Add(e); }, event);
    }
    const uint32_t count = encoder.events();
    const trace::BlockBytes taken = encoder.Take();
    return Raw({taken.data(), taken.data() + taken.size()}, count, times);
  }
  void Save(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes_; }

 private:
  std::string bytes_;
  uint32_t number_ = 0;
};

// As RunBinary, in bounds of memory and time. A sanitizer needs more of the one than there is.
inline Output RunBounded(const std::string& arguments) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return RunBinary("timeout 120", arguments);
#else
  return RunBinary("timeout 120 prlimit --as=4294967296", arguments);
#endif
}

// In bounds of processor time, which other load does not lengthen.
inline Output RunBriefly(const std::string& arguments) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return RunBinary("timeout 120 prlimit --cpu=60", arguments);
#else
  return RunBinary("timeout 120 prlimit --cpu=4", arguments);
#endif
}

// What a terminal would not only show.
inline bool HasControls(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7f) return true;
    const bool c1 =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) return true;
  }
  return false;
}

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_TOOLS_HOSTILE_TRACE_H_
