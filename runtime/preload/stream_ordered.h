// Stream-ordered memory of one runtime: what cuMemAllocAsync hands out of it, and how it comes
// back.
//
// A free takes effect when its stream gets there, told by an event that is looked at when memory is
// allocated, freed or waited for. Until then the memory may be handed out again in the same stream,
// and in one that comes behind the free by the program's events (stream_order.h), which waits for
// it. From then on it may be handed out in any, and it stays with its pool until a synchronisation
// finds the pool above its release threshold, the program trims it, or room is wanted: once memory
// moves, not before an allocation finds none. Pools are the driver's own; what of their memory is
// ours is counted here.
//
// What is freed is given up at once (Runtime::GiveUp): it holds nothing until it is handed out
// again, and moves without a copy.
//
// Which block an allocation gets is told by what is free alone, where one stream allocates and
// frees: a step of a program that repeats itself gets the same addresses each time, by which the
// mover knows what comes next. So it is the smallest that fits, of those one that its stream was
// handed before, and of those the lowest. So streams mostly keep to their own. The one
// freed last would not do: what is freed in the order in which it was allocated would come back in
// the opposite one, and every other step would be another.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDERED_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDERED_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <chrono>
#include <compare>
#include <deque>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/api/runtime.h"
#include "runtime/base/mutex.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/stream_order.h"

namespace vramspan::preload {

class StreamOrdered {
 private:
  struct Pool;

 public:
  explicit StreamOrdered(Runtime* runtime) : runtime_(*runtime) {}
  // The runtime ends: nothing is allocated or freed any more.
  void End() VS_EXCLUDES(mu_);
  StreamOrdered(const StreamOrdered&) = delete;
  StreamOrdered& operator=(const StreamOrdered&) = delete;

  Runtime& runtime() { return runtime_; }

  // Streams are explicit: no handle means another one by the kind of default stream.
  StatusOr<CUdeviceptr> Allocate(CUmemoryPool pool, Bytes size, CUstream stream) VS_EXCLUDES(mu_);
  // Also of memory that is no pool's. The driver's error leaves it allocated.
  CUresult Free(CUdeviceptr p, CUstream stream) VS_EXCLUDES(mu_);
  // The caller frees it at once, by the runtime.
  void Forget(CUdeviceptr p) VS_EXCLUDES(mu_);
  // The program has waited for something.
  void Synchronised() VS_EXCLUDES(mu_);
  // Whether any runtime's memory is freed and not free yet, so that events matter.
  static bool AnyPending() { return pendings_.load(std::memory_order_relaxed) != 0; }
  // By which the program's events tell which streams come behind a free. Beside any other call.
  StreamOrder& order() { return order_; }
  uint64_t IdOf(CUstream stream) const;
  // Whether memory of the pool is handed out again behind events of the program's.
  void FollowEvents(CUmemoryPool pool, bool follow) VS_EXCLUDES(mu_);
  void TrimTo(CUmemoryPool pool, size_t keep) VS_EXCLUDES(mu_);
  // Gives up all idle memory of all pools for whoever finds no room, and waits until it is free.
  // Where there is none, waits for what streams have yet to free. Two seconds at most; false where
  // there is nothing of either.
  bool MakeRoom() VS_EXCLUDES(mu_);
  // The program destroys a pool: it is taken out before the driver gives its handle to another, and
  // put back where the driver refuses. What is allocated from one that is gone lives on.
  std::shared_ptr<Pool> TakeOut(CUmemoryPool pool) VS_EXCLUDES(mu_);
  void PutBack(const std::shared_ptr<Pool>& pool) VS_EXCLUDES(mu_);
  void Destroyed(const std::shared_ptr<Pool>& pool) VS_EXCLUDES(mu_);

  struct Statistics {
    uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  };
  Statistics Of(CUmemoryPool pool) VS_EXCLUDES(mu_);
  void ResetHighs(CUmemoryPool pool, bool used, bool reserved) VS_EXCLUDES(mu_);

 private:
  struct Block {
    std::shared_ptr<Pool> pool;  // None: plain memory, freed in stream order.
    uint64_t capacity = 0;
    uint64_t stream = 0;  // Who was handed it: the stream's id; 0: unknown.
  };
  // The capacity of a block and where it is: in this order blocks are handed out.
  using Place = std::pair<uint64_t, CUdeviceptr>;
  struct Pool {
    CUmemoryPool handle = nullptr;
    bool destroyed = false;
    bool follows_events = true;
    Statistics statistics;
    std::map<Place, uint64_t> idle;  // With who was handed it last.
  };
  struct Pending {
    CUdeviceptr base = 0;
    Block block;
    uint64_t stream = 0;  // Who freed it, as in Block,
    uint64_t free = 0;    // and the free's number.
    CUevent event = nullptr;
  };
  using Freed = std::vector<CUdeviceptr>;

  std::shared_ptr<Pool> PoolOf(CUmemoryPool handle) VS_REQUIRES(mu_);
  // Takes in what streams have got to. Memory without a pool goes to `freed`.
  void Poll(Freed* freed) VS_REQUIRES(mu_);
  void Complete(const Pending& pending, Freed* freed) VS_REQUIRES(mu_);
  // Of those that fit the one that leaves the least unused, of those one that the stream was handed
  // before, and of those the lowest.
  struct Fit {
    uint64_t capacity;
    bool others;
    CUdeviceptr base;
    auto operator<=>(const Fit&) const = default;
  };
  std::map<Place, uint64_t>::iterator BestIdle(Pool* pool, uint64_t capacity, uint64_t stream,
                                               Fit* best) VS_REQUIRES(mu_);
  // Whether what the stream gets from here on comes behind that free; it is `behind` others.
  static bool MayTake(const Pending& pending, const Pool& pool, uint64_t stream,
                      const StreamOrder::Clock& behind);
  // The block that the stream gets of those that it may take; 0: none fits. `id`: the stream's.
  CUdeviceptr TakeOver(const std::shared_ptr<Pool>& pool, uint64_t capacity, CUstream stream,
                       uint64_t id) VS_REQUIRES(mu_);
  void HandOut(CUdeviceptr p, Block block) VS_REQUIRES(mu_);
  // Whether any memory is pending: while none is, no event matters.
  void CountPending(bool any) VS_REQUIRES(mu_);
  // Idle memory beyond what is to be kept, largest first.
  static void Trim(Pool* pool, uint64_t keep, Freed* freed);
  // Gives it to the runtime. REQUIRES: no lock is held.
  void GiveBack(const Freed& freed) VS_EXCLUDES(mu_);
  void GiveUpIdle() VS_EXCLUDES(mu_);
  // Keeps no more than so many times what was ever in use, with room for so much more.
  void Bound(Pool* pool, uint64_t capacity) VS_EXCLUDES(mu_);
  CUresult Record(CUstream stream, CUevent* event) VS_REQUIRES(mu_);
  void GiveUpContents(const Pending& pending) VS_EXCLUDES(mu_);
  // Memory is short, and moves: what holds nothing costs others no more than that.
  bool Moves() {
    const Memory& memory = runtime_.memory();
    return memory.options().traced && memory.tracking() == Tracking::kAll &&
           runtime_.mover().tracking();
  }

  Runtime& runtime_;
  Mutex mu_;
  absl::flat_hash_map<CUmemoryPool, std::shared_ptr<Pool>> pools_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<CUdeviceptr, Block> live_ VS_GUARDED_BY(mu_);
  std::deque<Pending> pending_ VS_GUARDED_BY(mu_);   // In the order of the calls.
  StreamOrder order_;                                // Of what is pending.
  bool counts_ VS_GUARDED_BY(mu_) = false;           // In pendings_:
  static inline std::atomic<uint32_t> pendings_{0};  // of how many runtimes any memory is pending.
  uint32_t telling_ VS_GUARDED_BY(mu_) = 0;          // Frees that are about to be pending.
  std::vector<CUevent> spare_events_ VS_GUARDED_BY(mu_);
};

// That of a runtime, made where there is none.
std::shared_ptr<StreamOrdered> StreamOrderedOf(Runtime* runtime);
// The runtime ends.
void EndStreamOrdered(Runtime* runtime);
// Those of all runtimes; empty, at the price of a load, while nobody has asked for any.
std::vector<std::shared_ptr<StreamOrdered>> AllStreamOrdered();

// An allocation that finds no room waits so long at most for memory that comes bit by bit.
inline constexpr std::chrono::seconds kMostPatience{4};
// Whether pools of the runtime have given up memory, where so much of it found no room.
bool MakeRoomOfPools(Runtime* runtime, Bytes size);
// Allocates as `allocate` does. What pools keep for later is better used than kept.
template <typename Call>
std::invoke_result_t<Call> WithRoomOfPools(Runtime* runtime, Bytes size, Call allocate) {
  std::invoke_result_t<Call> result = allocate();
  // Idle memory first, then what streams have yet to free, for as long as any of that comes.
  const auto end = std::chrono::steady_clock::now() + kMostPatience;
  while (absl::IsResourceExhausted(result.status()) && MakeRoomOfPools(runtime, size)) {
    result = allocate();
    if (std::chrono::steady_clock::now() > end) break;
  }
  return result;
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDERED_H_
