// The program's streams as far as they carried declared work: their words in host memory, and what
// of their work is held or in flight. A program's stream is touched only from inside a call that
// was given it: a handle may be destroyed at any other time, and the driver crashes on such a
// handle.
//
// Threads: not safe; the caller holds the memory lock, except where a function says otherwise. No
// driver call is made under that lock: another thread may sit inside the driver behind held work,
// with the context's own lock, and the mover needs the memory lock to let that work go (seen: a
// copy from pageable memory behind a hold, and cuEventCreate beside it).
#ifndef VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
#define VRAMSPAN_RUNTIME_MOVER_STREAMS_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/driver/driver.h"
#include "runtime/mover/stream_work.h"

namespace vramspan {

struct StreamState {
  CUstream stream = nullptr;
  uint64_t thread = 0;  // The number of the thread whose default stream it is; 0: no thread's.
  // Words in pinned host memory, and their addresses on the device. The stream waits on `hold`, and
  // writes into `reached` what Mark told it to, in order: so that the mover learns by a load how
  // far it has come. (Not by events: querying one may need a lock that a thread inside the driver
  // holds for as long as its work is held.)
  std::atomic<uint32_t>* hold = nullptr;
  std::atomic<uint32_t>* reached = nullptr;
  CUdeviceptr hold_address = 0;
  CUdeviceptr reached_address = 0;
  uint32_t holds = 0;                                 // The last hold's value.
  std::deque<StreamWork*> held;                       // In the order of submission.
  std::deque<StreamWork*> in_flight;                  // Released, not known to have finished.
  std::chrono::steady_clock::time_point last_finish;  // Seen; of its last finished work.
  // Carried work before tracking and none since: when that ends is unknown. Set by Streams.
  bool unrecorded = false;
  bool busy = false;       // Is in Streams::busy().
  bool forgotten = false;  // The handle or its thread has gone; goes when nothing is left.
  std::optional<uint32_t> drained_at;  // Was unrecorded: the mark that ends it.
  size_t place = 0;                    // In Streams::all().
  // Threads in Mover::AwaitRelease, and what tells them that held work was let go.
  uint32_t awaiting = 0;
  CondVar let_go;

  Mutex mark_mu;  // Marks reach the stream in their own order. Held over that one driver call.
  uint32_t marks VS_GUARDED_BY(mark_mu) = 0;  // The last mark's value.

  bool Reached(uint32_t mark) const {
    return static_cast<int32_t>(reached->load(std::memory_order_acquire) - mark) >= 0;
  }
};

// A page of the streams' words.
struct FlagPage {
  void* host = nullptr;
  CUdeviceptr address = 0;
};

class Streams {
 public:
  explicit Streams(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}
  ~Streams() { FreePages(); }
  // All flags are given back. REQUIRES: the runtime's context is current, and no state is used any
  // more.
  void FreePages();

  // The state for a handle; made on first sight. Null when no flag is left: then make a page, add
  // it, and ask again. A per-thread default stream is the calling thread's, known by a number that
  // no other thread ever gets.
  StreamState* Get(CUstream stream);
  // REQUIRES: the runtime's context is current, the memory lock is not held.
  static StatusOr<FlagPage> MakePage(const Driver& driver);
  void Add(const FlagPage& page);
  StreamState* Find(CUstream stream);  // Null when never seen.
  void Forget(StreamState* state);     // The next Get of the handle makes a new state.
  // Takes apart forgotten states with nothing left in them.
  void Sweep();

  // For what concerns streams that were never used again; the rest looks at those that are busy.
  const std::vector<std::unique_ptr<StreamState>>& all() const { return states_; }

  // The states with work in flight or a mark to settle at, and those that had some since DropIdle.
  const std::vector<StreamState*>& busy() const { return busy_; }
  void Busy(StreamState* state);
  void DropIdle();

  void SetUnrecorded(StreamState* state, bool unrecorded);
  uint64_t unrecorded() const { return unrecorded_; }  // How many are.

  // Lets held work go: the stream passes every hold up to `value`. Any thread.
  static void Raise(StreamState* state, uint32_t value) {
    state->hold->store(value, std::memory_order_release);
  }
  // Puts a mark into the stream: it is reached when all that was submitted before is done. Any
  // thread that was given the stream; the memory lock is not held.
  static StatusOr<uint32_t> Mark(const Driver& driver, StreamState* state);

 private:
  struct Key {
    CUstream stream;
    uint64_t thread;  // As of StreamState.
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.stream, k.thread);
    }
  };
  static Key KeyOf(CUstream stream, uint64_t thread);

  struct Flag {
    std::atomic<uint32_t>* words;
    CUdeviceptr address;
    uint32_t holds, marks;  // What the words hold: a later stream counts on from there.
  };

  const std::shared_ptr<const Driver> driver_;
  absl::flat_hash_map<Key, StreamState*> by_key_;
  std::vector<std::unique_ptr<StreamState>> states_;
  std::vector<StreamState*> busy_;
  std::vector<StreamState*> forgotten_;
  uint64_t unrecorded_ = 0;
  std::vector<void*> pages_;
  std::vector<Flag> free_flags_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
