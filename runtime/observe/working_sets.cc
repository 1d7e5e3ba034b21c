#include "runtime/observe/working_sets.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <iterator>

namespace vramspan {

void WorkingSets::Infer(const Submission& submission, bool possible,
                        absl::FunctionRef<Extent(DevicePtr)> allocation,
                        std::vector<InferredRange>* out) {
  out->clear();
  MutexLock lock(mu_);
  extents_.clear();
  // All pointers of the launch bound each other, so all are seen before any range is told.
  for (const Touch& touch : submission.touches) {
    const Extent extent = allocation(touch.ptr);
    extents_.push_back(extent);
    if (extent.size.value == 0 || touch.size.value != 0 || touch.via == Via::kGlobal) continue;
    Known& known = allocations_[extent.base.value];
    ++known.launches;
    See(known, (touch.ptr - extent.base).value);
  }
  for (size_t i = 0; i < submission.touches.size(); ++i) {
    const Touch& touch = submission.touches[i];
    const Extent& extent = extents_[i];
    if (extent.size.value == 0) continue;
    if (touch.via == Via::kGlobal) {
      // Every kernel could go there and hardly any does.
      if (!possible) continue;
      const bool sized = touch.size.value != 0;
      out->push_back({.ptr = sized ? touch.ptr : extent.base,
                      .size = sized ? touch.size : extent.size,
                      .likely = false,
                      .write = touch.write});
      continue;
    }
    InferredRange range{
        .ptr = touch.ptr, .size = touch.size, .write = touch.write, .slot = touch.slot};
    if (touch.size.value != 0) {
      range.exact = true;
      out->push_back(range);
      continue;
    }
    const uint64_t offset = (touch.ptr - extent.base).value;
    const uint64_t end =
        EndOf(allocations_.find(extent.base.value)->second, offset, extent.size.value);
    range.size = Bytes(end - offset);
    out->push_back(range);
    if (possible && (offset != 0 || end != extent.size.value)) {
      out->push_back(
          {.ptr = extent.base, .size = extent.size, .likely = false, .write = touch.write});
    }
  }
}

void WorkingSets::See(Known& known, uint64_t offset) {
  auto& list = known.boundaries;
  const auto it = absl::c_lower_bound(
      list, offset, [](const Boundary& b, uint64_t value) { return b.offset < value; });
  if (it != list.end() && it->offset == offset) {
    it->seen = known.launches;
    return;
  }
  const uint64_t before_it = it == list.begin() ? 0 : std::prev(it)->offset;
  if (offset % kAlignment.value != 0 && offset - before_it < kApart.value) return;
  if (list.size() < kMostBoundaries) {
    list.insert(it, {offset, known.launches});
    return;
  }
  const size_t before = list.size();
  std::erase_if(list, [&](const Boundary& b) { return b.seen + kAge < known.launches; });
  // All of them in use: finer than that nothing is told apart.
  if (list.size() != before) See(known, offset);
}

uint64_t WorkingSets::EndOf(const Known& known, uint64_t offset, uint64_t end) {
  auto it = absl::c_upper_bound(known.boundaries, offset,
                                [](uint64_t value, const Boundary& b) { return value < b.offset; });
  while (it != known.boundaries.end() && it->seen + kAge < known.launches) ++it;
  return it == known.boundaries.end() ? end : std::min(end, it->offset);
}

void WorkingSets::Forget(DevicePtr base) {
  MutexLock lock(mu_);
  allocations_.erase(base.value);
}

}  // namespace vramspan
