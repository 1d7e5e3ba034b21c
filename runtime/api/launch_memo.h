// What a thread's launches named the last time. Programs launch the same code in the same shape
// with the same parameters again and again, and what that comes to takes longer to find out than to
// compare: all bytes of the parameters are, for one byte may be another pointer.
//
// The answer depends on more than the launch: that is in Grounds, or the one who asks looks after
// it (WorkingSets::Repeat, KeptUses, Blocks::InUse). Nothing of it depends on the stream.
//
// What some launches name must be inferred each time: then only what else they come to is known.
//
// A launch is learnt when it comes for the second time: most that come twice come often. Bounded by
// bytes, of a thread and of all; who has no more room forgets what it has. Threads: one.
#ifndef VRAMSPAN_RUNTIME_API_LAUNCH_MEMO_H_
#define VRAMSPAN_RUNTIME_API_LAUNCH_MEMO_H_

#include <absl/algorithm/container.h>
#include <absl/types/span.h>

#include <array>
#include <memory>
#include <vector>

#include "runtime/base/trust.h"
#include "runtime/mover/work_pool.h"
#include "runtime/observe/decoder.h"
#include "runtime/observe/working_sets.h"

namespace vramspan {

class LaunchMemo {
 public:
  static constexpr Bytes kMostOfThread = MiB(4);
  static constexpr Bytes kMostOfAll = MiB(64);

  LaunchMemo() = default;
  ~LaunchMemo() { Clear(); }
  LaunchMemo(const LaunchMemo&) = delete;
  LaunchMemo& operator=(const LaunchMemo&) = delete;

  // What the answer depends on beside the launch. Read it before the answer is looked for.
  struct Grounds {
    uint64_t tracer = 0;       // Its number in the process,
    uint64_t trust = 0;        // how far it goes by what launches of this code name,
    uint64_t allocations = 0;  // Memory::allocations_state(),
    uint64_t hidden = 0;       // HiddenPointers::changes(),
    uint64_t watched = 0;      // Blocks::watched(),
    Decoder::Grounds decoder;
    bool incomplete = false;  // and whether any kernel may reach more than it names.

    bool operator==(const Grounds&) const = default;
  };

  struct Known {
    WorkingSets::Repeatable again;
    std::vector<WorkRange> ranges;
    std::vector<uint64_t> blocks;  // That it named, for Blocks::InUse.
    KeptUses uses;
    Access access = Access::kExact;
    Trust trust = Trust::kUntried;  // Of this launch.
    uint64_t kernel = 0;
    size_t touches = 0;
    bool encoded = false;  // It may name memory in other forms.

    // While they are the same, so are the chunks that they came to.
    void NameRanges(absl::Span<const WorkRange> named) {
      if (absl::c_equal(named, ranges)) return;
      ranges.assign(named.begin(), named.end());
      uses.allocations = 0;
    }

   private:
    friend class LaunchMemo;
    const void* code = nullptr;
    const KernelCode* of = nullptr;
    uint64_t shape = 0;
    const Layout* layout = nullptr;
    std::vector<char> block;  // The parameters.
    Grounds grounds;
    size_t bytes = 0;       // That were counted.
    uint32_t follower = 0;  // Where the launch is that came next, the last time.
  };

  // What is known of the launch, which has its parameters (Decoder::Name). Null: nothing.
  Known* Find(const Submission& launch, const Grounds& grounds);
  // After a Find that gave nothing: whether it is to be learnt.
  bool Wants() const { return wants_; }
  // Null: there is no room. After Wants, which asks about the same launch; good until the next
  // Find.
  Known* Learn(const Submission& launch, const Grounds& grounds);
  // After it was filled, or what it answers with has grown.
  void Count(Known* known);
  // It is not what it was.
  void Forget(const Known* known);
  // It cannot be learnt, and is not asked for soon.
  void Refuse() { seen_[hash_ % kSeen] = 0; }
  Bytes size() const { return Bytes(bytes_); }

 private:
  static constexpr uint32_t kSlots = 1 << 12;
  static constexpr uint32_t kTries = 4;  // Slots that a launch may be in.
  static constexpr uint32_t kSeen = 1 << 12;

  static bool IsSame(const Known& known, const Submission& launch, const Grounds& grounds);
  // All bytes of the parameters, and where to look for them.
  uint64_t HashOf(const Submission& launch);
  void Drop(uint32_t slot);
  void Clear();

  std::vector<std::unique_ptr<Known>> known_;  // By hash; made when first asked.
  std::vector<uint32_t> seen_;                 // Hashes of launches that came once.
  uint64_t hash_ = 0;                          // Of the launch that was not found.
  uint32_t last_ = 0;                          // Where the last that was found is.
  bool wants_ = false;
  size_t bytes_ = 0;
  std::vector<char> block_;  // Scratch.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LAUNCH_MEMO_H_
