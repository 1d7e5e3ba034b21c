// What a thread's local memory holds, by words from where its stack pointer points.
//
// Nobody else's thread writes there. What was stored at an unknown place may be at any.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_LOCAL_MEMORY_H_
#define VRAMSPAN_TOOLS_PROVE_LOCAL_MEMORY_H_

#include <cstddef>
#include <vector>

#include "tools/prove/origins.h"

namespace vramspan::prove {

class LocalMemory {
 public:
  // One word. `whole`: all of it is another now.
  void Store(uint64_t offset, Origin origin, bool whole);
  void StoreSomewhere(Origin origin) { JoinOne(origin, &somewhere_); }
  Origin Load(uint64_t offset) const;
  Origin LoadAny() const;
  // The stack pointer is another, and it is not known by how much.
  void Move();
  bool Join(const LocalMemory& other);
  size_t Bytes() const { return words_.capacity() * sizeof(Origin); }

 private:
  static constexpr uint64_t kMostWords = 1 << 14;  // Further ones are somewhere.

  Origin somewhere_{};
  std::vector<Origin> words_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_LOCAL_MEMORY_H_
