// The queue as a list of needs: every chunk it names within the horizon, once, at its first use.
//
// Kept from one scan to the next: under pressure plans follow each other every few microseconds,
// and most of a queue is as it was. A scan finds the works that have gone and those that have come
// and looks at their chunks only, and at the chunks that the view says have changed. The mentions
// of a chunk are a list through the works that are looked at, so that the next use is at hand when
// the first one goes; sums are kept by work.
//
// Where the view tells what has changed, chunks on the device that no work names are kept as well:
// they leave first.
//
// Metadata: 40 bytes a chunk, 36 a mention of one. Threads: not safe. Indices and references hold
// until the next Scan.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_

#include <absl/types/span.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/placement/seen_chunk.h"
#include "runtime/placement/types.h"
#include "runtime/placement/unnamed_chunks.h"
#include "runtime/placement/work_sums.h"

namespace vramspan {

// A chunk that a piece of work names.
struct Need {
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class Place : uint8_t {
    kIdle,       // On the device; may leave.
    kUnclaimed,  // On the device; may leave whoever needs it.
    kBusy,       // On the device; may leave once its users have finished.
    kMissing,    // In host memory; to be fetched.
    kPending,    // In host memory; to be fetched once its users have finished or its move has
                 // ended.
    kInPlace,    // In host memory; served there.
    kFixed,      // Stays where it is.
    kAgain,      // Counts for nothing: other work needs it first.
  };
  ChunkIndex chunk;
  Place place = Place::kAgain;
  Claim claim = Claim::kOrdinary;
  bool taken = false;                      // Already in the plan, as an eviction.
  bool incoming = false;                   // On its way to the device.
  uint32_t work = 0;                       // Whose it is.
  uint32_t before = kNone, after = kNone;  // The chunk's other mentions.
  uint64_t size = 0;
};

class Lookahead {
 public:
  // The released works and the one after are looked at whatever the horizon.
  void Scan(const PlanRequest& request, const ResidencyView& residency);

  // The number of works looked at.
  uint32_t works() const { return static_cast<uint32_t>(window_.size() - begin_); }
  bool Names(ChunkIndex chunk) const {
    return chunk.value < mentions_.size() && mentions_[chunk.value].counts != Need::kNone;
  }
  // REQUIRES: Names(chunk).
  Need& Find(ChunkIndex chunk) { return needs_[mentions_[chunk.value].counts]; }
  // What `work` names, in its own order. All but what is first needed by it, or what it is the
  // first to ask for explicitly, is kAgain.
  absl::Span<Need> NeedsOf(uint32_t work) {
    const Work& w = works_[window_[begin_ + work].work];
    return absl::MakeSpan(needs_).subspan(w.first_need, w.needs);
  }
  // What no work names; null: not known, for some view did not tell what has changed.
  const UnnamedChunks* unnamed() const { return told_ ? &unnamed_ : nullptr; }
  // Those that hold nothing and may leave, named or not. REQUIRES: unnamed() is not null.
  absl::Span<const ChunkIndex> empty() const { return empty_.chunks(); }
  // Whose it is, by place among the works.
  uint32_t WorkOf(const Need& need) const {
    return works_[need.work].at - static_cast<uint32_t>(begin_);
  }
  // REQUIRES: the chunk was named, or told to have changed.
  uint64_t SizeOf(ChunkIndex chunk) const { return mentions_[chunk.value].seen.size(); }
  // How many needs are kUnclaimed, and kPending.
  uint32_t unclaimed() const { return unclaimed_; }
  uint32_t pending() const { return pending_; }

  // The sum of the durations before `work`; of all for works().
  uint64_t Start(uint32_t work) const { return start_[begin_ + work] - start_[begin_]; }

  // Bytes of chunks that are missing, each at its first use.
  uint64_t missing() const { return sums_.all().missing; }
  // The most of them that one work is the first to need.
  uint64_t most_missing() const { return sums_.most_missing(); }
  // Those that `work` is the first to need.
  uint64_t MissingAt(uint32_t work) const { return sums_[begin_ + work].missing; }
  // Those that works before `work` are the first to need, and such as are on their way, but for
  // what released work needs. REQUIRES: `work` is not released.
  struct Lacks {
    uint64_t missing, on_the_way;
  };
  Lacks LacksBefore(uint32_t work) const {
    const WorkSums::Sums before = sums_.Before(begin_ + work);
    return {before.missing, before.on_the_way - released_on_the_way_};
  }
  // The first from `work` on, before `end`, that is the first to need missing chunks and of which
  // `finds` is true, told the work and the bytes; `end` for none. `skips` is told the first of
  // several works and what is missing up to the last of them: whether none of these is to be found.
  // REQUIRES: end <= works().
  template <typename Skips, typename Finds>
  uint32_t FindMissing(uint32_t work, uint32_t end, Skips skips, Finds finds) const {
    const auto place = [this](size_t at) { return static_cast<uint32_t>(at - begin_); };
    return place(sums_.FindLacking(
        begin_ + work, begin_ + end,
        [&](size_t at, uint64_t missing) { return skips(place(at), missing); },
        [&](size_t at, const WorkSums::Sums& own) {
          return own.missing != 0 && finds(place(at), own.missing);
        }));
  }
  // Bytes of idle chunks that are first needed by `work` and those behind it.
  uint64_t IdleFrom(uint32_t work) const { return sums_.IdleFrom(begin_ + work); }
  // The last work up to `work` that is the first to need idle chunks, if it is behind `after`; else
  // `after`. REQUIRES: after <= work < works().
  int64_t LastWithIdle(int64_t work, int64_t after) const;
  // Bytes on the device that are busy.
  uint64_t busy() const { return busy_; }

 private:
  struct Work {
    uint32_t first_need = 0, needs = 0;
    uint32_t at = 0;  // In the window; of one that is of no use: the next such with as many needs.
    bool explicit_request = false;
    uint64_t seen = 0;  // Bytes that no work before it names.
  };
  // A work that is looked at, with what tells it from others at a glance.
  struct Seen {
    uint32_t work;
    bool explicit_request;
    uint64_t version, duration;

    static Seen As(uint32_t work, const QueuedWork& queued) {
      return {work, queued.explicit_request, queued.version, queued.duration};
    }
  };
  // By chunk: indices of needs.
  struct Mentions {
    uint32_t first = Need::kNone, last = Need::kNone;
    uint32_t counts = Need::kNone;  // The first, or the explicit request that has claimed it.
    SeenChunk seen;
  };

  // Part of the queue that may be others than those that are looked at.
  struct Part {
    size_t from;          // As far they are the same.
    size_t end, new_end;  // Of those that are looked at, and of those in the queue.
    bool tail;            // Behind that they are the same again; else it is the rest.
  };
  // Drops what has gone from the queue, and puts in what has come between what has not. What has
  // come behind all that is looked at is left out.
  void Follow(const PlanRequest& request);
  // The same where there is something to drop or to put in.
  void Replace(absl::Span<const QueuedWork> queue, const Part& part);
  // How many works have gone here, and have come there, before the next that are the same.
  struct Change {
    size_t gone = 0, came = 0;
    bool found = false;
  };
  Change FindChange(absl::Span<const QueuedWork> queue, const Part& part, size_t here,
                    size_t there) const;
  // But for the duration.
  bool IsSame(const Seen& seen, const QueuedWork& queued) const;
  void Push(const QueuedWork& queued);
  // Its needs are no mentions yet: then each is linked.
  uint32_t NewWork(const QueuedWork& queued);
  // Its needs take their places among those of their chunks.
  void Link(const Work& work);
  // They are mentions no more.
  void Forget(uint32_t work);
  // From the work on, as many: the first, or the last.
  void Drop(size_t from, size_t count);
  // From that place in the window on, what comes before each in time is as the works there are.
  void Retime(size_t place);
  void Clear();
  void Refresh();
  void LookAgain(ChunkIndex chunk);
  // REQUIRES: a work names it, and none of its mentions counts.
  void Count(ChunkIndex chunk);
  void Uncount(ChunkIndex chunk);
  // Adds what the need comes to, or takes it off again.
  void Add(const Need& need, uint64_t sign);
  // All that is kept as works come and go, against the needs; to be checked.
  bool SumsAreRight() const;

  const ResidencyView* residency_ = nullptr;  // For the length of a scan.
  std::vector<Need> needs_;                   // By work, in order; with some that have gone.
  std::vector<ChunkIndex> ids_;               // Of needs_.
  std::vector<Work> works_;
  std::vector<Seen> window_;  // What is looked at, in order, from begin_ on.
  size_t begin_ = 0;
  WorkSums sums_;                     // By place in the window: what the work is the first to need.
  uint64_t released_on_the_way_ = 0;  // Of that, what released works are.
  // By place in the window, and one more: the durations of those before it, from any number on.
  std::vector<uint64_t> start_{0};
  struct Followed {
    Seen seen;
    bool came;
  };
  std::vector<Followed> followed_;  // These two: kept for their memory.
  std::vector<WorkSums::Sums> followed_sums_;
  std::vector<uint32_t> spare_;  // By how many needs: the first work of no use that has as many.
  std::vector<Mentions> mentions_;
  uint64_t queue_version_ = 0;
  size_t live_ = 0;  // Needs that have not gone.
  uint64_t seen_ = 0;
  uint64_t busy_ = 0;
  uint32_t unclaimed_ = 0, pending_ = 0;
  bool told_ = true;  // By every view so far, of what has changed.
  UnnamedChunks unnamed_;
  EmptyIdle empty_;
};

inline bool Lookahead::IsSame(const Seen& seen, const QueuedWork& queued) const {
  const auto names_the_same = [&] {
    const Work& work = works_[seen.work];
    const size_t bytes = work.needs * sizeof(ChunkIndex);
    return work.needs == queued.chunks.size() &&
           (bytes == 0 || std::memcmp(&ids_[work.first_need], queued.chunks.data(), bytes) == 0);
  };
  if (seen.explicit_request != queued.explicit_request) return false;
  if (seen.version != queued.version || seen.version == 0) return names_the_same();
  VS_DCHECK(names_the_same());
  return true;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_
