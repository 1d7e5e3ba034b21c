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
#include <vector>

#include "runtime/base/parameter_ranges.h"

namespace vramspan {

// A line that proves launches whose parameters are so.
struct ReadWhen {
  ParameterCases ranges;
  uint32_t source;
};

class Readings {
 public:
  // Of one code, conditions of which any will do.
  static constexpr size_t kMostWhen = 4;

  // `source` is a number of the caller's for where the line stands. REQUIRES: module != 0.
  void Add(uint64_t module, std::string_view name, uint32_t source);
  // All kernels of the image, `count` of them, but those that are added as unread.
  void AddImage(uint64_t module, uint64_t count, uint32_t source);
  void AddUnread(uint64_t module, std::string_view name);
  // As Add, for launches whose parameters are so. Beyond kMostWhen nothing is added.
  void AddWhen(const ParameterCases& when, uint64_t module, std::string_view name, uint32_t source);
  void Add(const Readings& others);

  // The source of the line that proves it, if one does.
  std::optional<uint32_t> ProofOf(uint64_t module, std::string_view name) const;
  // The lines that prove some of its launches. None where one proves all.
  std::vector<ReadWhen> ProofsWhen(uint64_t module, std::string_view name) const;

  // Of images.
  size_t size() const { return images_.size(); }
  // Codes, whatever they are given.
  uint64_t proven() const;

 private:
  struct Image {
    absl::flat_hash_map<std::string, uint32_t> read;  // By name, the source.
    std::optional<uint32_t> all;                      // The source.
    uint64_t count = 0;
    absl::flat_hash_set<std::string> unread;
    absl::flat_hash_map<std::string, std::vector<ReadWhen>> when;  // By name.
  };

  absl::flat_hash_map<uint64_t, Image> images_;
};

// A line of a reader's: this kernel of this image was read, and is proven or not.
struct ReadingOfKernel {
  bool proven = false;
  uint64_t module = 0;
  std::string_view name;
  ParameterCases when = {};  // For which launches it is proven; none: for all.
};
// None: it is no such line.
std::optional<ReadingOfKernel> ParseReadingOfKernel(std::string_view line);

// Lines of a trust file that say this.
std::string ReadLine(uint64_t module, std::string_view name, const ParameterCases& when = {});
std::string ImageLine(uint64_t module, uint64_t count);
std::string UnreadLine(uint64_t module, std::string_view name);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_READINGS_H_
