// What allocators of the program hand out of its allocations: such an allocator keeps what is freed
// and hands it out again, and the driver hears of neither. Where a block lies says how far a
// pointer to it leads, and what no block lies in holds nothing.
//
// Work that uses a block is submitted before it comes back: what is submitted later may be told by
// the allocator itself that the memory is another's. Two things are not so, and are looked for:
//   - A graph that was captured uses its blocks whenever it is launched, though the allocator has
//     them back. So what is in use when a capture begins, or is handed out while it goes on, is in
//     use from then on, as long as its memory is there.
//   - Blocks that come back and are handed out again with no work in between may never have been
//     let go of (PyTorch restores the blocks of its graphs that way). So a block is unused once the
//     thread that gave it back has submitted work.
//
// Who handed blocks out may have their memory from another allocator, which gives it to somebody
// else in between and tells nobody. So of an allocation only that is unused which came back since
// work last named a place in it that no block has (OthersHave). A launch that is the same as one
// before may be another owner's by then: it is, where a block that the first one named is not
// handed out (InUse). An allocation that the allocator made itself is nobody else's (OnlyReported).
// There an address that no block has is what a kernel's parameters happen to hold: compilers leave
// words of them as they were, and those may be where a block was.
//
// Memory counts by granules of 2 MiB: one is unused when blocks had all of it, and none has any of
// it now.
//
// Threads: any. Who looks a block up waits for nobody that tells what is unused. The lock of
// changes is held over that: it is taken before the gate of the mover and the lock of the memory,
// and after that of VmmTable.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_H_

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_local.h"
#include "runtime/base/units.h"
#include "runtime/observe/blocks_in_use.h"

namespace vramspan {

class Blocks {
 public:
  struct Block {
    DevicePtr base;
    Bytes size;          // 0: none.
    bool other = false;  // None, in an allocation that is watched: another has it (OthersHave).
    bool none = false;   // None, where nobody else can have it,
    bool past = false;   // and what was there was told to be unused.
    uint64_t key = 0;    // For InUse; 0: it lies in no allocation that is watched.
  };

  // For how long all work has been seen, by a number; 0: it is not.
  using Watch = uint64_t;

  // A block is handed out, or comes back. `captured`: while work is captured.
  void HandedOut(DevicePtr p, Bytes size, bool captured) VS_EXCLUDES(changing_, mu_);
  void CameBack(DevicePtr p, Bytes size, bool captured, Watch watch) VS_EXCLUDES(changing_, mu_);
  // The calling thread submits work.
  static void NoteSubmission() { ++submissions_; }
  // Tells what has come back from this thread during this watch, is still unused, and was followed
  // by its work. None of it is handed out before this returns.
  void TellUnused(Watch watch, absl::FunctionRef<void(DevicePtr, Bytes)> unused)
      VS_EXCLUDES(changing_, mu_);
  // The allocator that reports has made the allocation itself, so nobody gives it to others.
  void OnlyReported(DevicePtr allocation) VS_EXCLUDES(mu_);
  // Of what TellUnused tells, a part that lies in the allocation at `allocation`: whether nobody
  // else may have been given it. Not the first time: from then on the allocation is watched.
  bool IsNobodys(DevicePtr allocation, DevicePtr p, Bytes size) VS_EXCLUDES(mu_);
  // The memory is freed: nothing is known of it. `unmapped`: other memory may come there with the
  // same contents, and blocks that are in use stay so.
  void Gone(DevicePtr p, Bytes size, bool unmapped) VS_EXCLUDES(changing_, mu_);

  // Who names an address: work that is about to be submitted, a graph, or what is only looked at.
  enum class By : uint8_t { kWork, kGraph, kNobody };
  // The block that the address lies in, in the allocation at `allocation`; none that was handed out
  // where anything is kept.
  Block Find(DevicePtr allocation, DevicePtr p, By by) VS_EXCLUDES(mu_) {
    if (!any_.load(std::memory_order_relaxed)) [[likely]]
      return {};
    return Look(allocation, p, by);
  }
  // Whether the blocks with these keys are all handed out as they were.
  bool InUse(absl::Span<const uint64_t> keys) const {
    for (const uint64_t key : keys) {
      if (!in_use_.Has(key)) return false;
    }
    return true;
  }
  // Work that is about to be submitted names a place of the allocation that is another's: it may
  // fill all of it. Calls `own` while nothing is told.
  void OthersHave(DevicePtr allocation, absl::FunctionRef<void()> own) VS_EXCLUDES(changing_, mu_);
  // The same of work of which nobody can tell what it names: it may fill all that is watched.
  // Calls `own` where anything was told since the last such work.
  void OthersMayHaveAny(absl::FunctionRef<void()> own) VS_EXCLUDES(changing_, mu_);
  // Grows when another allocation is watched: what work names is to be looked up again.
  uint64_t watched() const { return watched_.load(std::memory_order_relaxed); }

 private:
  struct Granule {
    uint32_t used = 0;  // Bytes.
    // What blocks have had of it, as far as it is in one piece, since others last had anything.
    uint32_t from = 0, to = 0;
    uint64_t since = 0;
    bool kept = false;  // Whatever comes back.
    bool past = false;  // Told to be unused since it was handed out.
    // Who gave back what was used last, during which watch, and what that thread had submitted.
    uint64_t thread = 0, submissions = 0;
    Watch watch = 0;
    uint64_t came = 0;  // When: a number that grows.

    void Cover(uint32_t begin, uint32_t end, uint64_t others);
  };
  struct Known {
    Bytes size;
    bool kept;  // A graph may reach farther from there.
  };
  // What came back from a thread since it last submitted work.
  struct Returned {
    uint64_t submissions = 0;
    Watch watch = 0;
    std::vector<Block> blocks;
  };
  // Hints: beyond so many of a thread, and so many threads, they are dropped.
  static constexpr size_t kMostReturned = 4096;
  static constexpr size_t kMostThreads = 256;

  Block Look(DevicePtr allocation, DevicePtr p, By by) VS_EXCLUDES(mu_);
  // Keeps what was in use when a capture began; nothing has changed since.
  void KeepCaptured() VS_REQUIRES(mu_);
  // The block that is handed out there is another now.
  void Enter(const Block& block, bool kept) VS_REQUIRES(mu_);
  // False: it is no block.
  bool Forget(const Block& block) VS_REQUIRES(mu_);
  using ByBase = absl::btree_map<uint64_t, Known>;
  ByBase::iterator Erase(ByBase::iterator it) VS_REQUIRES(mu_);
  // As this thread may tell: of what others gave back it is not known whether they went on.
  bool IsUnused(uint64_t granule, Watch watch) const VS_REQUIRES(mu_);
  // Adds the unused granules of the block, each as far as that goes on within the reach of a chunk.
  void AddUnused(const Block& block, Watch watch, std::vector<Block>* unused) const
      VS_REQUIRES(mu_);

  std::atomic<bool> any_{false};  // Blocks were ever handed out.
  std::atomic<bool> any_only_reported_{false};
  std::atomic<uint64_t> watched_{0};
  Mutex changing_;
  Mutex mu_;                                                             // After the other.
  absl::flat_hash_map<uint64_t, Granule> granules_ VS_GUARDED_BY(mu_);   // By number.
  absl::flat_hash_map<uint64_t, Returned> returned_ VS_GUARDED_BY(mu_);  // By thread.
  ByBase by_base_ VS_GUARDED_BY(mu_);
  BlocksInUse in_use_;  // The same; changed under the lock.
  // When others had a place of it last, by where it begins: the allocations that are watched.
  absl::flat_hash_map<uint64_t, uint64_t> others_ VS_GUARDED_BY(mu_);
  absl::flat_hash_set<uint64_t> only_reported_ VS_GUARDED_BY(mu_);  // Allocations.
  uint64_t any_others_ VS_GUARDED_BY(mu_) = 0;  // When others may have had any of them last.
  bool told_ VS_GUARDED_BY(mu_) = false;        // Something, since then.
  uint64_t now_ VS_GUARDED_BY(mu_) = 0;
  // How often others were seen, or may have come unseen.
  uint64_t others_came_ VS_GUARDED_BY(mu_) = 0;
  Watch watch_ VS_GUARDED_BY(mu_) = 0;  // During which a block came back last.
  uint64_t captures_seen_ VS_GUARDED_BY(mu_) = 0;
  // Memory ran out, or what was handed out makes no sense: nothing is unused any more.
  bool lost_count_ VS_GUARDED_BY(mu_) = false;
  static inline VS_HOT_THREAD_LOCAL uint64_t submissions_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_H_
