#include "runtime/space/allocations.h"

#include <absl/strings/str_format.h>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

int ChosenLog2(Bytes size) {
  if (size >= MiB(128)) return kMaxChunkLog2;
  return size >= MiB(32) ? 25 : 24;
}

}  // namespace

std::vector<int> ChunkSizesFor(Bytes size, int forced_log2) {
  VS_CHECK(forced_log2 == 0 || (forced_log2 >= kMinChunkLog2 && forced_log2 <= kMaxChunkLog2));
  VS_CHECK(size <= Bytes(uint64_t{1} << 47));
  const int full = forced_log2 != 0 ? forced_log2 : ChosenLog2(size);
  uint64_t left = RoundUp(size, kGranularity).value;
  std::vector<int> sizes(left >> full, full);
  left &= ChunkBytes(full).value - 1;
  for (int log2 = full - 1; log2 >= kMinChunkLog2; --log2) {
    if ((left & ChunkBytes(log2).value) != 0) sizes.push_back(log2);
  }
  return sizes;
}

uint32_t Allocations::Add(const Allocation& allocation) {
  uint32_t id;
  if (free_.empty()) {
    slots_.emplace_back();
    id = static_cast<uint32_t>(slots_.size());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  const bool inserted = by_base_.emplace(allocation.base.value, id).second;
  VS_CHECK(inserted);
  slots_[id - 1] = allocation;
  slots_[id - 1].id = id;
  return id;
}

StatusOr<Allocation> Allocations::Remove(DevicePtr base, uint32_t containing) {
  const auto it = by_base_.find(base.value);
  if (it == by_base_.end()) {
    if (const Allocation* outer = Find(containing); outer != nullptr) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "0x%x is not the start of an allocation: it lies %d bytes into the "
          "one of %d bytes at 0x%x",
          base.value, (base - outer->base).value, outer->requested.value, outer->base.value));
    }
    return absl::InvalidArgumentError(
        recently_freed_.Has(base)
            ? absl::StrFormat("0x%x was freed before", base.value)
            : absl::StrFormat("0x%x is not allocated: it was never given out, or freed long ago",
                              base.value));
  }
  const uint32_t id = it->second;
  by_base_.erase(it);
  const Allocation removed = slots_[id - 1];
  slots_[id - 1] = Allocation();
  free_.push_back(id);
  recently_freed_.Add(base);
  return removed;
}

const Allocation* Allocations::Find(uint32_t id) const {
  if (id == 0 || id > slots_.size() || slots_[id - 1].id == 0) return nullptr;
  return &slots_[id - 1];
}

const Allocation* Allocations::FindBase(DevicePtr base) const {
  const auto it = by_base_.find(base.value);
  return it == by_base_.end() ? nullptr : Find(it->second);
}

size_t Allocations::metadata_bytes() const {
  using Entry = decltype(by_base_)::value_type;
  // A control byte beside each entry.
  return by_base_.capacity() * (sizeof(Entry) + 1) + slots_.capacity() * sizeof(Allocation) +
         free_.capacity() * sizeof(uint32_t);
}

}  // namespace vramspan
