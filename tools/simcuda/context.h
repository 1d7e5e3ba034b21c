#ifndef VRAMSPAN_TOOLS_SIMCUDA_CONTEXT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CONTEXT_H_

// A context: its hardware queues, its streams, its sticky error. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "tools/simcuda/hardware_queue.h"
#include "tools/simcuda/mutex.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

class Device;

class Context : public std::enable_shared_from_this<Context> {
 public:
  // Charges the device for the context's own memory. Null when that does not fit.
  static ContextPtr Create(Device& device, unsigned flags, bool primary);
  ~Context();

  Device& device() const { return device_; }
  bool primary() const { return primary_; }
  uint64_t id() const { return id_; }
  CUcontext handle() const { return handle_; }
  void set_handle(CUcontext handle) { handle_ = handle; }
  unsigned flags() const { return flags_.load(std::memory_order_relaxed); }
  void set_flags(unsigned flags) { flags_.store(flags, std::memory_order_relaxed); }

  // CUDA_SUCCESS, or what killed the context: every later call returns it.
  CUresult error() const { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
  // The first error stays. Pending work is skipped, waits end.
  void Kill(CUresult error);

  StreamPtr legacy_stream();
  StreamPtr per_thread_stream();  // of the calling thread
  StreamPtr CreateStream(StreamKind kind, int priority);

  // What must finish for the stream to have drained; see Stream::PendingTickets.
  std::vector<Ticket> PendingTickets(Stream& stream);

  // That work of this context reaches memory of the other: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
  // and CUDA_ERROR_PEER_ACCESS_NOT_ENABLED where it is as asked for.
  CUresult EnablePeer(const Context& peer);
  CUresult DisablePeer(const Context& peer);
  bool Reaches(uint64_t context_id) const;

  // Waits until everything that was submitted before the call has finished, in every stream, those
  // destroyed since too. (Lazy module loading does this inside a first launch.)
  void WaitIdle();
  // The same, and until it returns no other thread's submission does, as beside a cuMemFree.
  void WaitIdleAlone();

  // Ends all work, waits for the workers, returns the memory. Calls afterwards get
  // CUDA_ERROR_CONTEXT_IS_DESTROYED. Not on a worker.
  void Destroy();

 private:
  friend class Stream;

  Context(Device& device, unsigned flags, bool primary);

  // Numbers the op, works out what it must wait for, and queues it.
  CUresult Enqueue(Stream& stream, OpPtr op, Ticket* ticket);
  // What a legacy op submitted at this moment waits for. Forgets drained streams that are gone.
  std::vector<Ticket> BlockingTickets() SIMCUDA_REQUIRES(submit_mutex_);
  StreamPtr MakeStream(StreamKind kind, int priority) SIMCUDA_REQUIRES(submit_mutex_);
  HardwareQueue* NextQueue() SIMCUDA_REQUIRES(submit_mutex_);

  Device& device_;
  const bool primary_;
  const uint64_t id_;
  CUcontext handle_ = nullptr;  // constant after creation
  std::atomic<unsigned> flags_;
  std::atomic<int> error_{CUDA_SUCCESS};
  mutable Mutex peers_mutex_;
  std::set<uint64_t> peers_ SIMCUDA_GUARDED_BY(peers_mutex_);  // ids of contexts

  // Orders submissions of the whole context, so that legacy ordering is the order of the calls.
  Mutex submit_mutex_;
  std::vector<std::unique_ptr<HardwareQueue>> queues_;  // constant after creation
  size_t next_queue_ SIMCUDA_GUARDED_BY(submit_mutex_) = 0;
  StreamPtr legacy_ SIMCUDA_GUARDED_BY(submit_mutex_);
  std::unordered_map<uint64_t, StreamPtr> per_thread_ SIMCUDA_GUARDED_BY(submit_mutex_);
  // Of every blocking stream, those destroyed with unfinished work too.
  std::vector<ProgressPtr> blocking_ SIMCUDA_GUARDED_BY(submit_mutex_);
  bool destroyed_ SIMCUDA_GUARDED_BY(submit_mutex_) = false;
  int waiting_alone_ SIMCUDA_GUARDED_BY(submit_mutex_) = 0;
  CondVar nobody_alone_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CONTEXT_H_
