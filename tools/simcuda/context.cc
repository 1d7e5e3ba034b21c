#include "tools/simcuda/context.h"

#include <algorithm>
#include <utility>

#include "tools/simcuda/device.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/allocations.h"
#include "tools/simcuda/memory/external.h"
#include "tools/simcuda/thread.h"

namespace simcuda {
namespace {

uint64_t NextContextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool Exec::Abandoned() const { return context_.error() != CUDA_SUCCESS; }

ContextPtr Context::Create(Device& device, unsigned flags, bool primary) {
  if (!device.memory().Charge(Driver::Get().config().context_memory)) return nullptr;
  return ContextPtr(new Context(device, flags, primary));
}

Context::Context(Device& device, unsigned flags, bool primary)
    : device_(device), primary_(primary), id_(NextContextId()), flags_(flags) {
  for (int i = 0; i < Driver::Get().config().connections; ++i) {
    queues_.push_back(std::make_unique<HardwareQueue>(*this));
  }
}

Context::~Context() = default;

void Context::Kill(CUresult error) {
  int sound = CUDA_SUCCESS;
  error_.compare_exchange_strong(sound, error, std::memory_order_acq_rel);
}

CUresult Context::EnablePeer(const Context& peer) {
  MutexLock lock(peers_mutex_);
  return peers_.insert(peer.id()).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult Context::DisablePeer(const Context& peer) {
  MutexLock lock(peers_mutex_);
  return peers_.erase(peer.id()) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

bool Context::Reaches(uint64_t context_id) const {
  MutexLock lock(peers_mutex_);
  return peers_.contains(context_id);
}

HardwareQueue* Context::NextQueue() {
  HardwareQueue* queue = queues_[next_queue_].get();
  next_queue_ = (next_queue_ + 1) % queues_.size();
  return queue;
}

StreamPtr Context::MakeStream(StreamKind kind, int priority) {
  auto stream = std::make_shared<Stream>(shared_from_this(), kind, priority, NextQueue());
  if (kind == StreamKind::kBlocking) blocking_.push_back(stream->progress());
  return stream;
}

StreamPtr Context::legacy_stream() {
  MutexLock lock(submit_mutex_);
  if (!legacy_) {
    legacy_ = MakeStream(StreamKind::kLegacy, 0);
    legacy_->set_handle(CU_STREAM_LEGACY);
  }
  return legacy_;
}

StreamPtr Context::per_thread_stream() {
  MutexLock lock(submit_mutex_);
  StreamPtr& stream = per_thread_[Thread::Self().id];
  if (!stream) {
    stream = MakeStream(StreamKind::kBlocking, 0);
    stream->set_handle(CU_STREAM_PER_THREAD);
  }
  return stream;
}

StreamPtr Context::CreateStream(StreamKind kind, int priority) {
  MutexLock lock(submit_mutex_);
  return MakeStream(kind, priority);
}

std::vector<Ticket> Context::BlockingTickets() {
  std::vector<Ticket> tickets;
  blocking_.erase(std::remove_if(blocking_.begin(), blocking_.end(),
                                 [&](const ProgressPtr& progress) {
                                   Ticket ticket = Ticket::Latest(progress);
                                   if (ticket.Done())
                                     return progress.use_count() == 2;  // ours and ticket's
                                   tickets.push_back(std::move(ticket));
                                   return false;
                                 }),
                  blocking_.end());
  return tickets;
}

CUresult Context::Enqueue(Stream& stream, OpPtr op, Ticket* ticket) {
  CUresult sticky = error();
  if (sticky != CUDA_SUCCESS) return sticky;
  // Waits for room before the lock: a full queue must not hold up the other streams' calls.
  stream.queue_->AcquireSlot();
  MutexLock lock(submit_mutex_);
  while (waiting_alone_ > 0) nobody_alone_.Wait(submit_mutex_);
  if (destroyed_) {
    stream.queue_->ReleaseSlot();
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  QueuedOp queued;
  if (stream.kind() == StreamKind::kLegacy) {
    queued.after = BlockingTickets();
  } else if (stream.kind() == StreamKind::kBlocking && legacy_) {
    Ticket legacy = Ticket::Latest(legacy_->progress());
    if (!legacy.Done()) queued.after.push_back(std::move(legacy));
  }
  queued.op = std::move(op);
  queued.done = {stream.progress_, stream.progress_->AddStep()};
  if (ticket != nullptr) *ticket = queued.done;
  stream.queue_->Push(std::move(queued));
  return CUDA_SUCCESS;
}

std::vector<Ticket> Context::PendingTickets(Stream& stream) {
  if (stream.kind() != StreamKind::kLegacy) {
    Ticket latest = Ticket::Latest(stream.progress());
    if (latest.Done()) return {};
    return {std::move(latest)};
  }
  MutexLock lock(submit_mutex_);
  std::vector<Ticket> tickets = BlockingTickets();
  tickets.push_back(Ticket::Latest(stream.progress()));
  return tickets;
}

void Context::WaitIdle() {
  std::vector<Ticket> tickets;
  {
    MutexLock lock(submit_mutex_);
    for (const auto& queue : queues_) tickets.push_back(queue->Pushed());
  }
  for (const Ticket& ticket : tickets) ticket.Wait();
}

void Context::WaitIdleAlone() {
  {
    MutexLock lock(submit_mutex_);
    ++waiting_alone_;
  }
  WaitIdle();
  MutexLock lock(submit_mutex_);
  if (--waiting_alone_ == 0) nobody_alone_.NotifyAll();
}

void Context::Destroy() {
  StreamPtr legacy;
  std::unordered_map<uint64_t, StreamPtr> per_thread;
  {
    MutexLock lock(submit_mutex_);
    if (destroyed_) return;
    destroyed_ = true;
    // These hold the context: letting them go breaks the cycle.
    legacy.swap(legacy_);
    per_thread.swap(per_thread_);
  }
  error_.store(CUDA_ERROR_CONTEXT_IS_DESTROYED, std::memory_order_release);
  for (const auto& queue : queues_) queue->Stop();
  Driver& driver = Driver::Get();
  for (const auto& [handle, stream] : driver.streams().All()) {
    if (stream->context().get() == this) driver.streams().RemoveThis(handle, stream.get());
  }
  for (const auto& [handle, event] : driver.events().All()) {
    if (event->context().get() == this) driver.events().RemoveThis(handle, event.get());
  }
  memory::FreeContextMemory(*this);
  memory::ForgetExternalMemory(*this);
  device_.memory().Release(driver.config().context_memory);
}

}  // namespace simcuda
