// A descriptor of ours in a process that is not: the program may close any number (daemons,
// closefrom), and what it opens next gets it. So nothing is written to, read or accepted from a
// descriptor that we keep, but by this one mechanism:
//
//   OwnDescriptor file;
//   file.Adopt(fd);                                     // once; takes `fd` over
//   VS_ASSIGN_OR_RETURN(const int now, file.Get());     // before each use: still ours?
//   write(now, ...);
//
// Once Get has found something else there the descriptor is lost for good: the number is neither
// used nor closed again, by us. Whoever owns it stops, and says so in one line (the Status names
// the number). Between Get and the use lie microseconds in which another thread may still close.
//
// A thread that waits in accept(2) on a lost number serves one more peer, of ours, since the call
// keeps what it began with. A thread that listens calls Get before each accept, so before the next
// one it ends.
//
// Kept at a high number, away from where programs look for theirs; closed by exec.
// Threads: Get any; Adopt before all others, Close after.
#ifndef VRAMSPAN_RUNTIME_BASE_OWN_DESCRIPTOR_H_
#define VRAMSPAN_RUNTIME_BASE_OWN_DESCRIPTOR_H_

#include <atomic>

#include "runtime/base/file_identity.h"
#include "runtime/base/status.h"

namespace vramspan {

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  ~OwnDescriptor() { Close(); }
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;

  // `descriptor` was just opened by the caller, who knows it by this object only from here on.
  // A regular file that may be read stays known even where it is deleted meanwhile: its first page
  // is mapped, so that no other gets its inode.
  void Adopt(int descriptor);
  // The number, good for use right now. Unavailable: it stands for something else, and is lost.
  StatusOr<int> Get() const;
  // There is one, and it was not lost as far as is known.
  bool held() const { return number_.load(std::memory_order_relaxed) >= 0; }
  // Closes what is ours still. Also in a child of fork, whose copy it is.
  void Close();

 private:
  mutable std::atomic<int> number_{-1};
  FileIdentity identity_;
  void* anchor_ = nullptr;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_OWN_DESCRIPTOR_H_
