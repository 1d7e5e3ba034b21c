#include "tools/simcuda/memory/touch_counter.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {
namespace {

constexpr uint8_t kRead = 1;
constexpr uint8_t kWritten = 2;

char* At(CUdeviceptr address) { return reinterpret_cast<char*>(address); }

}  // namespace

TouchCounter& TouchCounter::Get() {
  static TouchCounter* const counter = new TouchCounter();
  return *counter;
}

bool TouchCounter::Begin(const std::vector<Piece>& pieces) {
  auto set = std::make_unique<Set>();
  set->all = std::vector<Watched>(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    set->all[i].piece = pieces[i];
    set->all[i].pages = std::make_unique<std::atomic<uint8_t>[]>(pieces[i].size / kPage);
  }
  previous_ = std::move(current_);
  current_ = std::move(set);
  set_.store(current_.get(), std::memory_order_release);
  for (const Piece& piece : pieces) {
    if (Protect(At(piece.base), piece.size, false, false)) continue;
    End();
    return false;
  }
  return true;
}

void TouchCounter::Forget(CUdeviceptr at, size_t size) {
  Set* const set = set_.load(std::memory_order_relaxed);
  if (set == nullptr) return;
  for (Watched& w : set->all) {
    if (w.piece.base < at + size && at < w.piece.base + w.piece.size) w.watched.store(false);
  }
}

TouchCounter::Pages TouchCounter::End() {
  Pages pages;
  Set* const set = set_.load(std::memory_order_relaxed);
  if (set == nullptr) return pages;
  for (Watched& w : set->all) {
    if (w.watched.exchange(false) &&
        !Protect(At(w.piece.base), w.piece.size, true, w.piece.writable)) {
      set->lost.store(true);
    }
    for (size_t i = 0; i < w.piece.size / kPage; ++i) {
      const uint8_t touched = w.pages[i].load(std::memory_order_relaxed);
      (w.piece.on_device ? pages.device_read : pages.host_read) += (touched & kRead) != 0;
      (w.piece.on_device ? pages.device_written : pages.host_written) += (touched & kWritten) != 0;
    }
  }
  pages.lost = set->lost.load();
  set_.store(nullptr, std::memory_order_release);
  return pages;
}

bool TouchCounter::Touched(const void* address, bool write) {
  Set* const set = set_.load(std::memory_order_acquire);
  if (set == nullptr) return false;
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  auto it = std::upper_bound(set->all.begin(), set->all.end(), at,
                             [](CUdeviceptr a, const Watched& w) { return a < w.piece.base; });
  if (it == set->all.begin()) return false;
  Watched& w = *--it;
  const size_t offset = at - w.piece.base;
  if (offset >= w.piece.size || (write && !w.piece.writable)) return false;
  // Its rights were put back meanwhile, and the access is good; or its mapping has changed, and it
  // faults once more, for good.
  if (!w.watched.load()) {
    return set_.load(std::memory_order_acquire) != set;
  }
  const int error = errno;
  std::atomic<uint8_t>& page = w.pages[offset / kPage];
  page.fetch_or(write ? kWritten : kRead);
  const bool written = (page.load() & kWritten) != 0;
  if (!Protect(At(at / kPage * kPage), kPage, true, written)) {
    // More pieces of memory than a process may have: all of it is let go.
    set->lost.store(true);
    if (!Protect(At(w.piece.base), w.piece.size, true, w.piece.writable)) return false;
  }
  errno = error;
  return true;
}

}  // namespace simcuda::memory
