// A table of descriptors for one thread alone.
#ifndef VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_
#define VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_

#include <array>
#include <span>

#include "runtime/base/file_identity.h"

namespace vramspan {

// From here on the calling thread has a table of descriptors of its own, and nothing in it but
// `keep`, under the same numbers. What other threads have open stays as it is, with their locks on
// files. Such a thread calls no driver, which has descriptors too. False: the system refuses, and
// nothing has changed. REQUIRES: `keep` ascends.
bool LeaveDescriptors(std::span<const int> keep = {});

// What such a thread takes along is still in the table that it left. Whoever made the thread notes
// that before, and closes it once the thread has its own. -1: none.
class LeftCopies {
 public:
  explicit LeftCopies(const std::array<int, 2>& numbers);
  // What is something else by now is left alone.
  void Close() const;

 private:
  const std::array<int, 2> numbers_;
  const std::array<FileIdentity, 2> identities_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PRIVATE_DESCRIPTORS_H_
