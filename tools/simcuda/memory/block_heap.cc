#include "tools/simcuda/memory/block_heap.h"

#include <algorithm>
#include <iterator>

#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {

BlockHeap::~BlockHeap() {
  MutexLock lock(mutex_);
  for (auto& [base, block] : blocks_) {
    ReleaseAddresses(base, block.size);
    account_.Release(block.size);
  }
}

BlockHeap::Piece* BlockHeap::NewBlock(size_t size, char** base) {
  if (!account_.Charge(size)) return nullptr;
  *base = AllocatePages(size, kGranularity);
  if (*base == nullptr) {
    account_.Release(size);
    return nullptr;
  }
  reserved_ += size;
  reserved_high_ = std::max(reserved_high_, reserved_);
  Piece& block = blocks_[*base];
  block.size = size;
  block.id = AddressMap::Get().NewId();
  block.holes.emplace(*base, size);
  return &block;
}

char* BlockHeap::Carve(char* base, Piece& block, size_t size) {
  for (auto hole = block.holes.begin(); hole != block.holes.end(); ++hole) {
    if (hole->second < size) continue;
    char* const address = hole->first;
    const size_t left = hole->second - size;
    block.holes.erase(hole);
    if (left > 0) block.holes.emplace(address + size, left);
    block.used += size;
    used_ += size;
    used_high_ = std::max(used_high_, used_);
    allocations_.emplace(address, size);
    current_ = base;
    return address;
  }
  return nullptr;
}

char* BlockHeap::Allocate(size_t size) {
  MutexLock lock(mutex_);
  const bool shared = size <= kLargestShared;
  size = RoundUp(size, shared ? kAlignment : kGranularity);
  const auto room = [&](const Piece& block) {
    return block.size - block.used >= size &&
           (shared ? block.size == kGranularity : block.used == 0);
  };
  auto first = blocks_.find(current_);
  if (first != blocks_.end() && room(first->second)) {
    if (char* address = Carve(first->first, first->second, size)) return address;
  }
  for (auto& [base, block] : blocks_) {
    // A large request takes an empty block that is not much larger; it must not waste one.
    if (!room(block) || (!shared && block.size > size + size / 8)) continue;
    if (char* address = Carve(base, block, size)) return address;
  }
  char* base = nullptr;
  Piece* block = NewBlock(shared ? kGranularity : size, &base);
  if (block == nullptr) {
    // Kept empty blocks of the wrong size may be what is in the way.
    TrimLocked(0);
    block = NewBlock(shared ? kGranularity : size, &base);
  }
  return block == nullptr ? nullptr : Carve(base, *block, size);
}

void BlockHeap::Free(char* address) {
  MutexLock lock(mutex_);
  auto allocation = allocations_.find(address);
  if (allocation == allocations_.end()) return;
  size_t size = allocation->second;
  allocations_.erase(allocation);
  Piece& block = std::prev(blocks_.upper_bound(address))->second;
  block.used -= size;
  used_ -= size;
  auto next = block.holes.lower_bound(address);
  if (next != block.holes.end() && next->first == address + size) {
    size += next->second;
    next = block.holes.erase(next);
  }
  if (next != block.holes.begin() && std::prev(next)->first + std::prev(next)->second == address) {
    std::prev(next)->second += size;
  } else {
    block.holes.emplace(address, size);
  }
  if (block.used == 0) TrimLocked(keep_);
}

Block BlockHeap::BlockOf(char* address) const {
  MutexLock lock(mutex_);
  const auto& [base, block] = *std::prev(blocks_.upper_bound(address));
  return {base, block.size, block.id};
}

void BlockHeap::Trim(size_t keep) {
  MutexLock lock(mutex_);
  TrimLocked(keep);
}

void BlockHeap::TrimLocked(size_t keep) {
  for (auto it = blocks_.begin(); it != blocks_.end() && reserved_ > keep;) {
    if (it->second.used > 0) {
      ++it;
      continue;
    }
    ReleaseAddresses(it->first, it->second.size);
    account_.Release(it->second.size);
    reserved_ -= it->second.size;
    it = blocks_.erase(it);
  }
}

void BlockHeap::set_keep(size_t keep) {
  MutexLock lock(mutex_);
  keep_ = keep;
}

size_t BlockHeap::reserved() const {
  MutexLock lock(mutex_);
  return reserved_;
}

size_t BlockHeap::used() const {
  MutexLock lock(mutex_);
  return used_;
}

size_t BlockHeap::reserved_high() const {
  MutexLock lock(mutex_);
  return reserved_high_;
}

size_t BlockHeap::used_high() const {
  MutexLock lock(mutex_);
  return used_high_;
}

void BlockHeap::ResetHighs(bool reserved, bool used) {
  MutexLock lock(mutex_);
  if (reserved) reserved_high_ = reserved_;
  if (used) used_high_ = used_;
}

}  // namespace simcuda::memory
