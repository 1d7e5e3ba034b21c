// The program's streams as far as they carried declared work: their hold flags, and what of their
// work is held or in flight. A program's stream is touched only from inside a call that was given
// it: a handle may be destroyed at any other time, and the driver crashes on such a handle.
//
// Threads: not safe; the caller holds the memory lock, except where a function says otherwise. No
// driver call is made under that lock: another thread may sit inside the driver behind held work,
// with the context's own lock, and the mover needs the memory lock to let that work go (seen: a
// copy from pageable memory behind a hold, and cuEventCreate beside it).
#ifndef VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
#define VRAMSPAN_RUNTIME_MOVER_STREAMS_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/driver/driver.h"
#include "runtime/mover/work.h"

namespace vramspan {

struct StreamState {
  CUstream stream = nullptr;
  std::atomic<uint32_t>* flag = nullptr;  // In pinned host memory; the stream waits on it.
  CUdeviceptr flag_address = 0;           // The same word as the device sees it.
  uint32_t holds = 0;                     // The last hold's value.
  std::deque<Work*> held;                 // In the order of submission.
  std::deque<Work*> in_flight;            // Released, not known to have finished.
  bool unrecorded = false;  // Carried work before arming and none since: when that ends is unknown.
  bool forgotten = false;   // The program gave the handle up; goes when nothing is left.
};

// Events without timing, kept for use again. Threads: safe; makes its driver calls without a lock.
class EventPool {
 public:
  explicit EventPool(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}
  ~EventPool();

  // REQUIRES: the runtime's context is current.
  StatusOr<CUevent> Take();
  void Give(CUevent event);  // Null is fine.

 private:
  const std::shared_ptr<const Driver> driver_;
  Mutex mu_;
  std::vector<CUevent> free_ VS_GUARDED_BY(mu_);
};

// A page of hold flags.
struct FlagPage {
  void* host = nullptr;
  CUdeviceptr address = 0;
};

class Streams {
 public:
  explicit Streams(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}
  ~Streams();

  // The state for a handle; made on first sight. Null when no flag is left: then make a page, add
  // it, and ask again. A per-thread default stream is the calling thread's.
  StreamState* Get(CUstream stream);
  // REQUIRES: the runtime's context is current, the memory lock is not held.
  static StatusOr<FlagPage> MakePage(const Driver& driver);
  void Add(const FlagPage& page);
  StreamState* Find(CUstream stream);  // Null when never seen.
  void Forget(StreamState* state);     // The next Get of the handle makes a new state.
  // Takes apart forgotten states with nothing left in them.
  void Sweep();

  const std::vector<std::unique_ptr<StreamState>>& all() const { return states_; }

  // Lets held work go: the stream passes every hold up to `value`. Any thread.
  static void Raise(StreamState* state, uint32_t value) {
    state->flag->store(value, std::memory_order_release);
  }

 private:
  struct Key {
    CUstream stream;
    std::thread::id thread;  // Only for the per-thread default stream.
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.stream, std::hash<std::thread::id>()(k.thread));
    }
  };
  static Key KeyOf(CUstream stream);

  struct Flag {
    std::atomic<uint32_t>* word;
    CUdeviceptr address;
    uint32_t value;  // What the word holds: a later stream counts on from there.
  };

  const std::shared_ptr<const Driver> driver_;
  absl::flat_hash_map<Key, StreamState*> by_key_;
  std::vector<std::unique_ptr<StreamState>> states_;
  std::vector<void*> pages_;
  std::vector<Flag> free_flags_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
