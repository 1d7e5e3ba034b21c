#ifndef VRAMSPAN_TOOLS_SIMCUDA_SHARED_SEGMENT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_SHARED_SEGMENT_H_

// What all processes that share simulated devices have in common: a file that each of them maps. It
// tells who they are, and what each uses of each device. All zeros are a good start.
//
// There is no lock, so a process that is killed or stopped anywhere holds nobody up. A change is
// one exchange of a device's `head`, which says which process makes the next change; what it
// changes to stands in its `next` before. Whoever comes then copies that to `settled`, before any
// other change is made. So all changes of a device have an order, and a limit holds exactly.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/simcuda/shared/process_name.h"

namespace simcuda::shared {

inline constexpr size_t kMostProcesses = 1024;
inline constexpr size_t kMostDevices = 64;
inline constexpr size_t kPageBytes = 4096;

struct Layout {
  struct Use {
    std::atomic<uint64_t> settled, next;  // Pages, and the low bits of the change's number.
  };
  struct Device {
    std::atomic<uint64_t> limit;  // Bytes; 0: nobody has said.
    std::atomic<uint64_t> head;   // The last change's number, and whose it is.
    Use uses[kMostProcesses];
  };
  std::atomic<uint64_t> version;
  std::atomic<uint64_t> owners[kMostProcesses];  // A name; with kArriving: it counts for nothing.
  Device devices[kMostDevices];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct ProcessUse {
  int pid;
  size_t bytes;
};

// Threads: one at a time, but for what is const.
class Segment {
 public:
  // Maps the file in the folder, and makes it where there is none. Null, with errno, where that
  // cannot be; EPROTO: the file is none of this.
  static std::unique_ptr<Segment> Open(const std::string& folder);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // The same in all processes that share it, and in no others.
  const std::string& name() const { return name_; }

  // A place for this process, with nothing used. -1: all are taken. What a former program of this
  // very process (exec) had is dropped.
  int Arrive();

  // False where that is more than the limit.
  bool Charge(size_t device, int place, size_t bytes);
  void Release(size_t device, int place, size_t bytes);  // No more than there is.

  size_t limit(size_t device) const { return layout_.devices[device].limit.load(); }
  void set_limit(size_t device, size_t bytes) { layout_.devices[device].limit.store(bytes); }
  void InitLimit(size_t device, size_t bytes);  // Unless somebody has set one.

  // Of all that live, by one moment.
  size_t Used(size_t device);
  std::vector<ProcessUse> Processes(size_t device);

 private:
  Segment(Layout* layout, std::string name) : layout_(*layout), name_(std::move(name)) {}

  // Whether any was found dead, and counts no more.
  bool DropDead();
  // By the last change of the device that `head` tells of.
  static void Settle(Layout::Device& device, uint64_t head);
  // Pages of all that are there. REQUIRES: settled.
  uint64_t Sum(const Layout::Device& device) const;
  // Calls `look` until no change was made meanwhile.
  template <typename Look>
  void AtOneMoment(Layout::Device& device, Look look);
  // The place's pages become `change` of what they are. `most`: unless all are more then.
  template <typename Change>
  bool Make(Layout::Device& device, int place, uint64_t most, Change change);

  Layout& layout_;
  const std::string name_;
};

}  // namespace simcuda::shared

#endif  // VRAMSPAN_TOOLS_SIMCUDA_SHARED_SEGMENT_H_
