// What lines of trust files say of kernels whose machine code was read (`vramspan prove`): it takes
// no address from memory, so a launch touches nothing but what its arguments name.
//
// Pure. Threads: any, once nothing is added any more.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_READINGS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_READINGS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramspan {

class Readings {
 public:
  // `source` is a number of the caller's for where the line stands. REQUIRES: module != 0.
  void Add(uint64_t module, std::string_view name, uint32_t source);
  // All kernels of the image, `count` of them, but those that are added as unread.
  void AddImage(uint64_t module, uint64_t count, uint32_t source);
  void AddUnread(uint64_t module, std::string_view name);
  void Add(const Readings& others);

  // The source of the line that proves it, if one does.
  std::optional<uint32_t> ProofOf(uint64_t module, std::string_view name) const;

  // Of images.
  size_t size() const { return images_.size(); }
  // Codes.
  uint64_t proven() const;

 private:
  struct Image {
    absl::flat_hash_map<std::string, uint32_t> read;  // By name, the source.
    std::optional<uint32_t> all;                      // The source.
    uint64_t count = 0;
    absl::flat_hash_set<std::string> unread;
  };

  absl::flat_hash_map<uint64_t, Image> images_;
};

// A line of a reader's: this kernel of this image was read, and is proven or not.
struct ReadingOfKernel {
  bool proven = false;
  uint64_t module = 0;
  std::string_view name;
};
// None: it is no such line.
std::optional<ReadingOfKernel> ParseReadingOfKernel(std::string_view line);

// Lines of a trust file that say this.
std::string ReadLine(uint64_t module, std::string_view name);
std::string ImageLine(uint64_t module, uint64_t count);
std::string UnreadLine(uint64_t module, std::string_view name);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_READINGS_H_
