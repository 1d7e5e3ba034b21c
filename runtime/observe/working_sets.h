// From what a submission names to what it will most likely touch, and to what it may touch.
//
// A pointer of a kernel names two ranges. The likely one ends at the next pointer seen into the
// same allocation: programs put many arrays into one allocation, and each is named by its start
// sooner or later. The possible one is the whole allocation: a kernel may reach all of it by a base
// pointer and indices.
//
// Frameworks' allocators hand out the same memory again in other pieces, and a piece that ended at
// a pointer is now longer and goes past it. So boundaries age, and an allocation that was seen to
// be handed out anew counts as a pool: where it is small, a pointer into it likely goes to its end.
// And a boundary has proved itself only to launches that went from the same pointer before: the
// same code, shape and numbers. Whoever has a longer piece there says so by another number. Or to
// launches that differ from such in one number, which says where they are (proven_lengths.h). And
// only to code that has been given the boundary itself, or others as far apart: what fills a
// buffer piece by piece says nothing about what then takes all of it (gradients, and the sum over
// devices).
//
// Where the program's allocator tells its blocks (blocks.h), a pointer to one goes to its end, and
// one within it no farther. But a block may be many arrays (flat parameters): then its first one
// ends where others begin that the same code is given, again and again while the block is that one.
//
// An algorithm may look at one array piece by piece, each named by its start (Thrust's is_sorted
// does). Such a row of equal steps, named by one code alone, ends nothing for other codes.
//
// Code that stays in arrays (Trust::kArrays) is taken at its word where a pointer leads to what was
// uploaded as one (uploads.h): it may touch that array, and no more of the allocation. Launches
// must name the array as it was uploaded: its start, nothing within it, and next what follows it.
// And uploads must make up the allocation, or else it is memory that is used for this and that.
//
// Threads: any; one lock, for the length of an Infer.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/observe/proven_lengths.h"
#include "runtime/observe/submission.h"
#include "runtime/observe/uploads.h"

namespace vramspan {

struct Extent {
  DevicePtr base;
  Bytes size;  // 0: in no live allocation.
  // Of the allocation, as the program's own allocator told; 0: it told nothing.
  DevicePtr block = {};
  Bytes block_size = {};
  // The address lay in a block that is not handed out any more, and is nobody's. Who goes there is
  // a stray word of the parameters, most likely.
  bool past = false;

  // Whether a block begins there.
  bool IsBlock(DevicePtr p) const { return block_size != Bytes(0) && block == p; }
  // How far from `base` it is to the end of the block, or else of the allocation.
  Bytes reach() const {
    return block_size == Bytes(0) ? size : std::min(size, block + block_size - base);
  }
};

struct InferredRange {
  DevicePtr ptr;
  Bytes size;
  bool likely = true;  // False: possible, and no more.
  bool exact = false;  // The call itself says which bytes (a copy).
  bool array = false;  // Nothing else of its allocation is touched by this pointer.
  bool write = true;
  // Possible, and the boundary that leaves it out of the likely range has proved itself.
  bool settled = false;
  bool of_last = false;  // Possible: the whole allocation of the likely range before it.
  bool told = false;     // Possible, by a pointer to a block that was told.
  uint16_t slot = 0;     // Touch::slot
};

class WorkingSets {
 public:
  // Allocators of programs align what they hand out. A pointer that is not aligned so most likely
  // goes to within an array, and bounds nothing, unless it is this far from the boundary before it.
  static constexpr Bytes kAlignment = Bytes(256);
  static constexpr Bytes kApart = MiB(2);
  // A boundary holds for so many launches into its allocation, or for so many that name what it
  // ends and never itself.
  static constexpr uint64_t kAge = 1 << 14;
  static constexpr uint32_t kAlone = 256;
  // A new pointer into what so many launches have named by its start: handed out anew.
  static constexpr uint32_t kSettled = 3;
  // A boundary has proved itself when it was named so often while it ended the same range, to
  // launches of which as many had that range.
  static constexpr uint32_t kRenewed = 2;
  // Kinds of launches remembered of a boundary, and codes that it was given to.
  static constexpr size_t kUsers = 6;
  static constexpr size_t kNamers = 8;
  // Boundaries within a block that are looked at.
  static constexpr size_t kMostInBlock = 64;
  // Boundaries that make a row, and how many of it are looked at.
  static constexpr size_t kRow = 8;
  static constexpr size_t kLongestRow = 1 << 12;
  // What follows an array may begin so far behind it: rows are padded, and kernels read that.
  static constexpr Bytes kPadding = KiB(4);
  // Boundaries remembered of one allocation; beyond that those of old age go first.
  static constexpr size_t kMostBoundaries = 1 << 16;

  // A pool up to the size `whole` is one array: see above.
  explicit WorkingSets(Bytes whole) : whole_(whole) {}
  // From here on. Any thread.
  void PoolsAreWholeUpTo(Bytes whole) { whole_.store(whole, std::memory_order_relaxed); }

  class Repeatable;
  // What `submission` names, in ranges that lie in live allocations. `possible`: with the possible
  // range of each pointer behind its likely one. `again`, where given: what the same launch may be
  // told by from then on.
  void Infer(const Submission& submission, bool possible,
             absl::FunctionRef<Extent(const Touch&)> allocation, std::vector<InferredRange>* out,
             Repeatable* again = nullptr) VS_EXCLUDES(mu_);
  // An Infer as the one that `again` comes from, of a launch that is the same, while no allocation
  // has come or gone (packed objects are none): notes all that it would, if its answer is still
  // that. False: it may be another, nothing was noted, and Infer must tell.
  bool Repeat(const Repeatable& again) VS_EXCLUDES(mu_);
  // A copy from the host fills this part of the allocation.
  void Uploaded(const Extent& allocation, DevicePtr ptr, Bytes size) VS_EXCLUDES(mu_);
  // The allocation was freed.
  void Forget(DevicePtr base) VS_EXCLUDES(mu_);

 private:
  static constexpr uint32_t kSeveral = 0;
  static constexpr int kHintsLog2 = 6;  // To begin with.
  struct Boundary {
    uint64_t offset;
    uint64_t seen;          // Launches into the allocation by then.
    uint32_t code;          // That names it, alone; kSeveral.
    uint32_t named = 1;     // Launches that named it,
    uint32_t alone = 0;     // and that named what ends it not,
    uint32_t renewed = 0;   // and how often that was named in between.
    uint64_t end = 0;       // What ends it: its offset,
    uint64_t end_seen = 0;  // and when it was seen.
    // Launches that named it while that ended it, the latest of their kinds.
    struct User {
      uint32_t launch = 0;  // Code, shape and numbers.
      uint32_t times = 0;
      bool noted = false;  // In Known::lengths.
    };
    std::array<User, kUsers> users{};
    uint64_t used = 0;  // Launches into the allocation by then.
    // That it was given to, the first ones; 0: none.
    std::array<uint32_t, kNamers> namers{};
    uint32_t block = 0;    // That it lay in when it was named last, as BlockOf tells it,
    uint8_t in_block = 0;  // and launches that named it there; no more than kSettled.

    // Notes such a launch.
    User& Use(uint32_t launch, uint64_t now);
    // Whether nobody knew that.
    bool Name(uint32_t namer);
    bool NamedBy(uint32_t namer) const;
    // A launch names it, in a block. Whether it now ends what it did not, or does not any more.
    bool See(uint64_t now, uint32_t in) {
      const bool told = block != 0 || in != 0;
      const bool ended = in_block >= kSettled && seen + kAge >= now;
      if (block != in) in_block = 0;
      block = in;
      in_block = static_cast<uint8_t>(in_block + (seen != now && in_block < kSettled));
      named += seen != now;
      seen = now;
      return told && ended != (in_block >= kSettled);
    }
    // And goes to `by`, which ends it as before. True: it has done so alone for too long.
    bool EndsAt(const Boundary& by);
  };
  using Boundaries = std::vector<Boundary>;
  struct Known {
    uint64_t launches = 0;
    uint64_t counted = 0;   // The last Infer that counted as a launch into it.
    uint64_t changes = 0;   // Grows with all that Repeatable does not look at itself.
    bool pool = false;      // Handed out anew.
    Boundaries boundaries;  // Sorted by offset.
    // Where boundaries were found, by a hash of their offsets: a launch asks for those that others
    // have asked for. More of them where there are more boundaries.
    int hints_log2 = kHintsLog2;
    std::vector<uint16_t> hints = std::vector<uint16_t>(size_t{1} << kHintsLog2);
    ProvenLengths lengths;
    Uploads uploads;
    uint64_t upload_changes = 0;

    uint64_t ChangesFor(bool arrays) const { return changes + (arrays ? upload_changes : 0); }
    // Where the array ends that begins there, or what pads it; 0 where none does.
    uint64_t ArrayEnd(uint64_t offset, Bytes allocation);
    // The first boundary that does not lie before `offset`.
    Boundaries::iterator From(uint64_t offset);
    void Insert(Boundaries::iterator before, const Boundary& boundary);
  };
  static_assert(kMostBoundaries <= size_t{1} << 16);
  // What a touch lies in; `known` is null where it names nothing that has boundaries.
  struct Named {
    Extent extent;
    Known* known;
  };
  // A launch, as far as it says how far it goes.
  struct Launch {
    const Submission& submission;
    uint32_t code;   // kSeveral for a graph.
    uint32_t namer;  // Code; of a graph, what tells it from others.
    uint32_t kind;   // 0: not asked for.
    bool arrays;     // It stays in them.
  };
  // In all that the launch names.
  uint64_t Changes(const Launch& launch) const VS_REQUIRES(mu_);
  // Where the answers to the launch come from. `before`: the changes when they were given.
  void NoteWhere(const Launch& launch, uint64_t before, Repeatable* again) VS_REQUIRES(mu_);
  // Of the allocation at `base`; made where there is none.
  Known& KnownOf(DevicePtr base) VS_REQUIRES(mu_);
  // Notes the pointer.
  void See(Known& known, uint64_t offset, const Extent& extent, const Launch& launch);
  // Tells the blocks of an allocation apart; 0: none.
  static uint32_t BlockOf(const Extent& extent);
  // Where the first of many arrays ends that make up the block; behind the last boundary where it
  // is one array. `start`: where the block begins.
  static Boundaries::iterator EndInBlock(const Known& known, Boundaries& list,
                                         Boundaries::iterator start, const Extent& extent,
                                         const Launch& launch);
  // What ends `offset` for `code` where `end` is the next boundary: that, or what comes behind the
  // row which another code has made of the array.
  static Boundaries::iterator BehindRow(Boundaries& list, uint64_t offset, Boundaries::iterator end,
                                        uint32_t code);
  // The first boundary of no old age beyond the pointer, or the end of its allocation; whether it
  // has proved itself to such a launch.
  struct End {
    uint64_t offset;
    bool settled;
  };
  End EndOf(Known& known, const Extent& extent, const Touch& touch, const Launch& launch) const;

  std::atomic<Bytes> whole_;
  Mutex mu_;
  uint64_t infers_ VS_GUARDED_BY(mu_) = 0;
  uint64_t forgotten_ VS_GUARDED_BY(mu_) = 0;  // Allocations.
  absl::flat_hash_map<uint64_t, std::unique_ptr<Known>> allocations_ VS_GUARDED_BY(mu_);
  std::vector<Named> named_ VS_GUARDED_BY(mu_);  // Scratch: by touch.
};

// Where an Infer found what it answered by. It looks at what each launch changes: ages, and who
// used a boundary last. Of all else the allocations count the changes.
class WorkingSets::Repeatable {
 public:
  // Pointers of one launch; of a launch with more nothing is kept.
  static constexpr size_t kMostPointers = 512;

  // False: what the launch is told is about to be another, or is another each time.
  bool any() const { return any_; }
  size_t bytes() const {
    return pointers_.capacity() * sizeof(Pointer) + allocations_.capacity() * sizeof(Counted);
  }

 private:
  friend class WorkingSets;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Counted {
    Known* known;
    uint64_t changes;
  };
  // Positions in the list of boundaries.
  struct Pointer {
    Known* known;
    uint32_t start = kNone;  // None: it is within an array.
    uint32_t next = kNone;   // Of no old age when it was looked at.
    uint32_t end = kNone;    // None: the end of the allocation.
    uint16_t user = 0;
    uint16_t times = 1;   // That the launch holds it.
    bool proven = false;  // `end` has proved itself to such launches by itself.
  };
  // Pointer::user of such a launch.
  bool IsUser(const Boundary& start, const Pointer& pointer) const;
  // What it looks at is so that the answer is the same.
  bool Stands(const Pointer& pointer) const;

  bool any_ = false;
  uint32_t kind_ = 0;
  bool arrays_ = false;
  uint64_t forgotten_ = 0;
  std::vector<Counted> allocations_;
  std::vector<Pointer> pointers_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_WORKING_SETS_H_
