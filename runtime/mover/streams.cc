#include "runtime/mover/streams.h"

#include <algorithm>
#include <cstring>

namespace vramspan {
namespace {

constexpr size_t kPageBytes = 64 << 10;
constexpr size_t kFlagStride = 64;  // A cache line each: the GPU polls them.

}  // namespace

Streams::~Streams() {
  // Teardown: what fails here fails on a dead context.
  for (void* page : pages_) (*driver_)->MemFreeHost(page);
}

Streams::Key Streams::KeyOf(CUstream stream) {
  if (stream == nullptr) stream = CU_STREAM_LEGACY;  // Two names of one stream.
  Key key{stream, std::thread::id()};
  if (stream == CU_STREAM_PER_THREAD) key.thread = std::this_thread::get_id();
  return key;
}

StatusOr<FlagPage> Streams::MakePage(const Driver& driver) {
  FlagPage page;
  VS_RETURN_IF_ERROR(
      Check(driver->MemHostAlloc(&page.host, kPageBytes,
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
            "cuMemHostAlloc", "for hold flags"));
  const CUresult result = driver->MemHostGetDevicePointer(&page.address, page.host, 0);
  if (result != CUDA_SUCCESS) {
    driver->MemFreeHost(page.host);
    return DriverError(result, "cuMemHostGetDevicePointer", "for hold flags");
  }
  std::memset(page.host, 0, kPageBytes);
  return page;
}

void Streams::Add(const FlagPage& page) {
  pages_.push_back(page.host);
  for (size_t at = 0; at < kPageBytes; at += kFlagStride) {
    auto* word = reinterpret_cast<std::atomic<uint32_t>*>(static_cast<char*>(page.host) + at);
    free_flags_.push_back({word, page.address + at, 0});
  }
}

StreamState* Streams::Get(CUstream stream) {
  const Key key = KeyOf(stream);
  if (const auto it = by_key_.find(key); it != by_key_.end()) return it->second;
  if (free_flags_.empty()) return nullptr;
  const Flag flag = free_flags_.back();
  free_flags_.pop_back();
  auto state = std::make_unique<StreamState>();
  state->stream = stream;
  state->flag = flag.word;
  state->flag_address = flag.address;
  state->holds = flag.value;
  by_key_[key] = state.get();
  states_.push_back(std::move(state));
  return states_.back().get();
}

StreamState* Streams::Find(CUstream stream) {
  const auto it = by_key_.find(KeyOf(stream));
  return it == by_key_.end() ? nullptr : it->second;
}

void Streams::Forget(StreamState* state) {
  state->forgotten = true;
  for (auto it = by_key_.begin(); it != by_key_.end(); ++it) {
    if (it->second == state) {
      by_key_.erase(it);
      break;
    }
  }
}

void Streams::Sweep() {
  std::erase_if(states_, [&](const std::unique_ptr<StreamState>& s) {
    if (!s->forgotten || !s->held.empty() || !s->in_flight.empty()) return false;
    free_flags_.push_back({s->flag, s->flag_address, s->holds});
    return true;
  });
}

EventPool::~EventPool() {
  // Teardown: what fails here fails on a dead context.
  for (CUevent event : free_) (*driver_)->EventDestroy(event);
}

StatusOr<CUevent> EventPool::Take() {
  {
    MutexLock lock(mu_);
    if (!free_.empty()) {
      const CUevent event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  VS_RETURN_IF_ERROR(Check((*driver_)->EventCreate(&event, CU_EVENT_DISABLE_TIMING),
                           "cuEventCreate", "for declared work"));
  return event;
}

void EventPool::Give(CUevent event) {
  if (event == nullptr) return;
  MutexLock lock(mu_);
  free_.push_back(event);
}

}  // namespace vramspan
