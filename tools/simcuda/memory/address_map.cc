#include "tools/simcuda/memory/address_map.h"

#include <iterator>
#include <utility>

namespace simcuda::memory {

AddressMap& AddressMap::Get() {
  static AddressMap* const map = new AddressMap();
  return *map;
}

bool AddressMap::Insert(Range range) {
  const auto start = reinterpret_cast<CUdeviceptr>(range.base);
  WriterLock lock(mutex_);
  auto next = ranges_.lower_bound(start);
  if (next != ranges_.end() && next->first - start < range.size) return false;
  if (next != ranges_.begin() && std::prev(next)->second->Contains(start, 1)) return false;
  range.buffer_id = NewId();
  if (range.block.size == 0) range.block = {range.base, range.size, range.buffer_id};
  ranges_.emplace_hint(next, start, std::make_shared<const Range>(std::move(range)));
  return true;
}

RangePtr AddressMap::Find(CUdeviceptr address) const {
  ReaderLock lock(mutex_);
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return nullptr;
  const RangePtr& range = std::prev(next)->second;
  return range->Contains(address, 1) ? range : nullptr;
}

RangePtr AddressMap::Remove(CUdeviceptr base, RangeKind kind) {
  WriterLock lock(mutex_);
  auto it = ranges_.find(base);
  if (it == ranges_.end() || it->second->kind != kind) return nullptr;
  RangePtr range = std::move(it->second);
  ranges_.erase(it);
  return range;
}

std::vector<RangePtr> AddressMap::RemoveOfContext(uint64_t context_id) {
  std::vector<RangePtr> removed;
  WriterLock lock(mutex_);
  for (auto it = ranges_.begin(); it != ranges_.end();) {
    if (it->second->context_id == context_id) {
      removed.push_back(std::move(it->second));
      it = ranges_.erase(it);
    } else {
      ++it;
    }
  }
  return removed;
}

}  // namespace simcuda::memory
