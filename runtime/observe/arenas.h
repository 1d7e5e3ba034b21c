// The ranges of addresses that are ours: is a value one of them, which part of a range is?
//
// Readers take no lock; a set of ranges does not change once it can be seen. Sets that were
// replaced are kept, since a reader may still hold one: there are as many as calls of Add and
// Remove, a few in a process. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_ARENAS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_ARENAS_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/units.h"

namespace vramspan {

class ArenaSet {
 public:
  struct Range {
    uint64_t base = 0, size = 0;
  };

  ArenaSet() = default;
  explicit ArenaSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    if (ranges_.empty()) return;
    uint64_t end = 0;
    low_ = ~uint64_t{0};
    for (const Range& range : ranges_) {
      low_ = std::min(low_, range.base);
      end = std::max(end, range.base + range.size);
    }
    span_ = end - low_;
  }

  // False: in none. True: between the first and the last of them. One test.
  bool Near(uint64_t value) const { return value - low_ < span_; }
  // The same for any address of [base, base + size).
  bool NearAny(uint64_t base, uint64_t size) const {
    return span_ != 0 && (Near(base) || low_ - base < size);
  }
  bool Has(uint64_t value) const {
    if (!Near(value)) [[likely]]
      return false;
    return ranges_.size() == 1 || IsInOne(value);
  }

  // Calls add(base, size) with what of [base, base + size) lies in a range.
  template <typename Add>
  void Clip(uint64_t base, uint64_t size, Add add) const {
    const uint64_t end = base + std::min(size, ~base);
    for (const Range& range : ranges_) {
      const uint64_t from = std::max(base, range.base);
      const uint64_t to = std::min(end, range.base + range.size);
      if (from < to) add(from, to - from);
    }
  }

  const std::vector<Range>& ranges() const { return ranges_; }
  // All ranges lie in [low, low + span).
  uint64_t low() const { return low_; }
  uint64_t span() const { return span_; }

 private:
  bool IsInOne(uint64_t value) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const Range& range) { return value - range.base < range.size; });
  }

  uint64_t low_ = 0, span_ = 0;
  std::vector<Range> ranges_;
};

class Arenas {
 public:
  Arenas() { Publish({}); }

  const ArenaSet& set() const { return *set_.load(std::memory_order_acquire); }

  void Add(DevicePtr base, Bytes size) {
    MutexLock lock(mu_);
    std::vector<ArenaSet::Range> ranges = set().ranges();
    ranges.push_back({base.value, size.value});
    Publish(std::move(ranges));
  }
  void Remove(DevicePtr base) {
    MutexLock lock(mu_);
    std::vector<ArenaSet::Range> ranges = set().ranges();
    std::erase_if(ranges, [&](const ArenaSet::Range& r) { return r.base == base.value; });
    Publish(std::move(ranges));
  }

 private:
  // REQUIRES: mu_ is held, but in the constructor.
  void Publish(std::vector<ArenaSet::Range> ranges) VS_NO_THREAD_SAFETY_ANALYSIS {
    all_.push_back(std::make_unique<const ArenaSet>(std::move(ranges)));
    set_.store(all_.back().get(), std::memory_order_release);
  }

  Mutex mu_;
  std::vector<std::unique_ptr<const ArenaSet>> all_ VS_GUARDED_BY(mu_);
  std::atomic<const ArenaSet*> set_{nullptr};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_ARENAS_H_
