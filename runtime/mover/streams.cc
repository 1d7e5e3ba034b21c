#include "runtime/mover/streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/thread_number.h"

namespace vramspan {
namespace {

constexpr size_t kPageBytes = 64 << 10;
constexpr size_t kFlagStride = 64;  // A cache line each.

}  // namespace

void Streams::FreePages() {
  for (void* page : pages_) {
    driver_->RecordBackgroundError(
        Check((*driver_)->MemFreeHost(page), "cuMemFreeHost", "of hold flags"));
  }
  pages_.clear();
}

Streams::Key Streams::KeyOf(CUstream stream, uint64_t thread) {
  if (stream == nullptr) stream = CU_STREAM_LEGACY;  // Two names of one stream.
  return {stream, stream == CU_STREAM_PER_THREAD ? thread : 0};
}

StatusOr<FlagPage> Streams::MakePage(const Driver& driver) {
  FlagPage page;
  VS_RETURN_IF_ERROR(
      Check(driver->MemHostAlloc(&page.host, kPageBytes,
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
            "cuMemHostAlloc", "for hold flags"));
  const CUresult result = driver->MemHostGetDevicePointer(&page.address, page.host, 0);
  if (result != CUDA_SUCCESS) {
    driver.RecordBackgroundError(
        Check(driver->MemFreeHost(page.host), "cuMemFreeHost", "of hold flags"));
    return DriverError(result, "cuMemHostGetDevicePointer", "for hold flags");
  }
  std::memset(page.host, 0, kPageBytes);
  return page;
}

void Streams::Add(const FlagPage& page) {
  pages_.push_back(page.host);
  for (size_t at = 0; at < kPageBytes; at += kFlagStride) {
    auto* words = reinterpret_cast<std::atomic<uint32_t>*>(static_cast<char*>(page.host) + at);
    free_flags_.push_back({words, page.address + at, 0, 0});
  }
}

StatusOr<uint32_t> Streams::Mark(const Driver& driver, StreamState* state) {
  MutexLock lock(state->mark_mu);
  const uint32_t mark = state->marks + 1;
  VS_RETURN_IF_ERROR(Check(driver->StreamWriteValue32(state->stream, state->reached_address, mark,
                                                      CU_STREAM_WRITE_VALUE_DEFAULT),
                           "cuStreamWriteValue32", "to mark a stream"));
  state->marks = mark;
  return mark;
}

StreamState* Streams::Get(CUstream stream) {
  const Key key = KeyOf(stream, ThreadNumber::Mine());
  if (const auto it = by_key_.find(key); it != by_key_.end()) return it->second;
  if (free_flags_.empty()) return nullptr;
  const Flag flag = free_flags_.back();
  free_flags_.pop_back();
  auto state = std::make_unique<StreamState>();
  state->stream = stream;
  state->hold = flag.words;
  state->reached = flag.words + 1;
  state->hold_address = flag.address;
  state->reached_address = flag.address + sizeof(uint32_t);
  state->holds = flag.holds;
  {
    MutexLock lock(state->mark_mu);
    state->marks = flag.marks;
  }
  state->thread = key.thread;
  state->place = states_.size();
  by_key_[key] = state.get();
  states_.push_back(std::move(state));
  return states_.back().get();
}

StreamState* Streams::Find(CUstream stream) {
  const auto it = by_key_.find(KeyOf(stream, ThreadNumber::Mine()));
  return it == by_key_.end() ? nullptr : it->second;
}

void Streams::Forget(StreamState* state) {
  if (state->forgotten) return;
  state->forgotten = true;
  by_key_.erase(KeyOf(state->stream, state->thread));
  forgotten_.push_back(state);
}

void Streams::Sweep() {
  std::erase_if(forgotten_, [&](StreamState* s) {
    if (s->unrecorded || s->drained_at.has_value() || !s->held.empty() || !s->in_flight.empty() ||
        s->awaiting != 0) {
      return false;
    }
    if (s->busy) std::erase(busy_, s);
    {
      MutexLock lock(s->mark_mu);
      free_flags_.push_back({s->hold, s->hold_address, s->holds, s->marks});
    }
    const size_t place = s->place;
    states_[place] = std::move(states_.back());
    states_[place]->place = place;
    states_.pop_back();
    return true;
  });
}

void Streams::Busy(StreamState* state) {
  if (std::exchange(state->busy, true)) return;
  busy_.push_back(state);
}

void Streams::DropIdle() {
  std::erase_if(busy_, [](StreamState* s) {
    s->busy = !s->in_flight.empty() || s->drained_at.has_value();
    return !s->busy;
  });
}

void Streams::SetUnrecorded(StreamState* state, bool unrecorded) {
  if (std::exchange(state->unrecorded, unrecorded) == unrecorded) return;
  unrecorded_ += unrecorded ? 1 : -1;
}

}  // namespace vramspan
