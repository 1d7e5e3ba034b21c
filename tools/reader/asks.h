// What a running program asks: which of its kernels' code is to be read. Lines of a file that
// several processes append to:
//
//   ask GPU HASH NAME
//
// GPU is a compute capability as a number, as 90. HASH is that of the kernel's image.
//
// Pure; parsed as from a stranger.
#ifndef VRAMSPAN_TOOLS_READER_ASKS_H_
#define VRAMSPAN_TOOLS_READER_ASKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramspan::reader {

// The code of an image that a GPU runs.
struct AskedCode {
  uint64_t module = 0;
  uint32_t gpu = 0;
  auto operator<=>(const AskedCode&) const = default;
};

struct Ask {
  AskedCode code;
  std::string name;
};

// A line without its end; nothing where it is none that is understood.
std::optional<Ask> ParseAsk(std::string_view line);

// 16 hexadecimal digits of lower case, not all of them 0.
std::optional<uint64_t> ParseModule(std::string_view text);

// The lines of a file that grows. What is malformed, or too long, is passed over.
class AskLines {
 public:
  // Of all that a file has.
  static constexpr size_t kMostBytes = size_t{16} << 20;

  // What the file has got. Nothing behind kMostBytes counts.
  void Add(std::string_view bytes, std::vector<Ask>* asks);
  size_t taken() const { return taken_; }

 private:
  size_t taken_ = 0;
  std::string open_;       // The begin of a line without an end.
  bool too_long_ = false;  // Its end alone is waited for.
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_ASKS_H_
