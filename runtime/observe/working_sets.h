// From what a submission names to what it will most likely touch, and to what it may touch.
//
// A pointer of a kernel names two ranges. The likely one ends at the next pointer seen into the
// same allocation: programs put many arrays into one allocation, and each is named by its start
// sooner or later. The possible one is the whole allocation: a kernel may reach all of it by a base
// pointer and indices. Boundaries age: one that no launch has named for long ends nothing any more.
//
// Threads: any; one lock, for the length of an Infer.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/observe/submission.h"

namespace vramspan {

struct Extent {
  DevicePtr base;
  Bytes size;  // 0: in no live allocation.
};

struct InferredRange {
  DevicePtr ptr;
  Bytes size;
  bool likely = true;  // False: possible, and no more.
  bool exact = false;  // The call itself says which bytes (a copy).
  bool write = true;
  uint16_t slot = 0;  // Touch::slot
};

class WorkingSets {
 public:
  // Allocators of programs align what they hand out. A pointer that is not aligned so most likely
  // goes to within an array, and bounds nothing, unless it is this far from the boundary before it.
  static constexpr Bytes kAlignment = Bytes(256);
  static constexpr Bytes kApart = MiB(2);
  // A boundary holds for so many launches into its allocation.
  static constexpr uint64_t kAge = 1 << 14;
  // Boundaries remembered of one allocation; beyond that those of old age go first.
  static constexpr size_t kMostBoundaries = 1 << 16;

  // What `submission` names, in ranges that lie in live allocations. `possible`: with the possible
  // range of each pointer behind its likely one.
  void Infer(const Submission& submission, bool possible,
             absl::FunctionRef<Extent(DevicePtr)> allocation, std::vector<InferredRange>* out)
      VS_EXCLUDES(mu_);
  // The allocation was freed.
  void Forget(DevicePtr base) VS_EXCLUDES(mu_);

 private:
  struct Boundary {
    uint64_t offset;
    uint64_t seen;  // Launches into the allocation by then.
  };
  struct Known {
    uint64_t launches = 0;
    std::vector<Boundary> boundaries;  // Sorted by offset.
  };
  // Notes the pointer.
  void See(Known& known, uint64_t offset);
  // The first boundary of no old age beyond `offset`, or `end`.
  static uint64_t EndOf(const Known& known, uint64_t offset, uint64_t end);

  Mutex mu_;
  absl::flat_hash_map<uint64_t, Known> allocations_ VS_GUARDED_BY(mu_);
  std::vector<Extent> extents_ VS_GUARDED_BY(mu_);  // Scratch: by touch.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_
