#include "runtime/preload/allocated.h"

#include <absl/container/btree_map.h>

#include <iterator>

#include "runtime/base/mutex.h"

namespace vramspan::preload {
namespace {

// Never taken apart: calls may come until the process is gone.
struct Book {
  Mutex mu;
  absl::btree_map<CUdeviceptr, Allocated> by_base VS_GUARDED_BY(mu);
  uint64_t next_id VS_GUARDED_BY(mu) = uint64_t{1} << 48;

  Allocated* Find(CUdeviceptr p) VS_REQUIRES(mu) {
    auto it = by_base.upper_bound(p);
    if (it == by_base.begin()) return nullptr;
    --it;
    return p - it->first < it->second.size ? &it->second : nullptr;
  }
  // Another one that shares a granule with this one. Null: none does.
  const Allocated* InBlockOf(const Allocated& a) VS_REQUIRES(mu) {
    const auto next = by_base.upper_bound(a.base);
    const CUdeviceptr end = a.block_base() + a.block_size();
    if (next != by_base.end() && next->second.block_base() < end) return &next->second;
    const auto it = by_base.lower_bound(a.base);
    if (it == by_base.begin()) return nullptr;
    const Allocated& before = std::prev(it)->second;
    return before.block_base() + before.block_size() > a.block_base() ? &before : nullptr;
  }
};

Book& TheBook() {
  static Book* const book = new Book;
  return *book;
}

}  // namespace

constinit std::atomic<bool> any_sync_memops{false};

void AddAllocated(CUdeviceptr base, size_t size, CUmemoryPool pool) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  Allocated added{base, size, pool, book.next_id++, 0, false};
  if (const Allocated* const beside = book.InBlockOf(added)) added.block_id = beside->block_id;
  if (added.block_id == 0) added.block_id = book.next_id++;
  book.by_base[base] = added;
}

void RestoreAllocated(const Allocated& allocated) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  book.by_base[allocated.base] = allocated;
}

std::optional<Allocated> RemoveAllocated(CUdeviceptr base) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  const auto it = book.by_base.find(base);
  if (it == book.by_base.end()) return std::nullopt;
  const Allocated removed = it->second;
  book.by_base.erase(it);
  return removed;
}

std::optional<Allocated> FindAllocated(CUdeviceptr p) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  const Allocated* const found = book.Find(p);
  return found != nullptr ? std::optional<Allocated>(*found) : std::nullopt;
}

bool SetSyncMemops(CUdeviceptr p, bool on) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  Allocated* const found = book.Find(p);
  if (found == nullptr) return false;
  found->sync_memops = on;
  if (on) any_sync_memops.store(true, std::memory_order_relaxed);
  return true;
}

void RemoveAllAllocated(CUdeviceptr begin, Bytes size) {
  Book& book = TheBook();
  MutexLock lock(book.mu);
  book.by_base.erase(book.by_base.lower_bound(begin), book.by_base.lower_bound(begin + size.value));
}

}  // namespace vramspan::preload
