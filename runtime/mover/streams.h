// The program's streams as far as they carried declared work: their hold flags, and what of their
// work is held or in flight. A program's stream is touched only from inside a call that was given
// it: a handle may be destroyed at any other time, and the driver crashes on such a handle.
//
// Threads: not safe; the caller holds the memory lock, except for Raise and the pools' words.
#ifndef VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
#define VRAMSPAN_RUNTIME_MOVER_STREAMS_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

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

class Streams {
 public:
  explicit Streams(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {}
  ~Streams();

  // The state for a handle; made on first sight. A per-thread default stream is the calling
  // thread's. REQUIRES: the runtime's context is current (a page of flags may be made).
  StatusOr<StreamState*> Get(CUstream stream);
  StreamState* Find(CUstream stream);  // Null when never seen.
  void Forget(StreamState* state);     // The next Get of the handle makes a new state.
  // Takes apart forgotten states with nothing left in them.
  void Sweep();

  const std::vector<std::unique_ptr<StreamState>>& all() const { return states_; }

  // Events without timing. REQUIRES as Get.
  StatusOr<CUevent> TakeEvent();
  void GiveEvent(CUevent event);

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
  Status MakeFlags();

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
  std::vector<CUevent> free_events_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_STREAMS_H_
