#ifndef VRAMSPAN_TOOLS_SIMCUDA_HANDLE_TABLE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_HANDLE_TABLE_H_

// Handles of one kind (streams, events, ...) to the objects behind them. The next object of the
// kind gets the handle of the one that went last, as a driver's allocator has it: what still goes
// by that handle meets the new object. Until then a stale handle is recognised: Find returns null
// for it and counts a stale use. Thread-safe. Tables are never destroyed (callers keep them in
// leaked singletons).

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/simcuda/mutex.h"

namespace simcuda {

// Uses of handles that do not name a live object, all kinds together.
std::atomic<uint64_t>& StaleHandleUses();

// A value that no handle of any kind has had before: for a table. Never 0, 1 or 2 (the special
// streams), never a mapped address, and a multiple of 64.
uint64_t NewHandleValue();

template <typename Handle, typename T>
class HandleTable {
 public:
  Handle Insert(std::shared_ptr<T> object) {
    Handle handle = NewHandle();
    InsertAs(handle, std::move(object));
    return handle;
  }

  // A handle to insert an object under: for those that must know their own.
  Handle NewHandle() {
    WriterLock lock(mutex_);
    if (free_.empty()) return FromValue(NewHandleValue());
    const uint64_t value = free_.back();
    free_.pop_back();
    return FromValue(value);
  }

  // Under a handle of its own: NewHandle's, one that was kept back, or an address.
  void InsertAs(Handle handle, std::shared_ptr<T> object) {
    WriterLock lock(mutex_);
    objects_[Value(handle)] = std::move(object);
  }

  // Null, and counted as stale, where the handle names nothing.
  std::shared_ptr<T> Find(Handle handle) const {
    std::shared_ptr<T> found = FindQuietly(handle);
    if (!found) StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
    return found;
  }

  // As Find, uncounted: for handles that may rightly be of another kind.
  std::shared_ptr<T> FindQuietly(Handle handle) const {
    ReaderLock lock(mutex_);
    auto it = objects_.find(Value(handle));
    return it == objects_.end() ? nullptr : it->second;
  }

  // Forgets the handle; null, and counted as stale, where there was none.
  std::shared_ptr<T> Remove(Handle handle) {
    std::shared_ptr<T> removed = RemoveQuietly(handle);
    if (!removed) StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
    return removed;
  }

  // As Remove, uncounted.
  std::shared_ptr<T> RemoveQuietly(Handle handle) {
    std::shared_ptr<T> removed = RemoveKept(handle);
    if (removed) Recycle(handle);
    return removed;
  }

  // Forgets the handle if it still names this object, and not another since.
  void RemoveThis(Handle handle, const T* object) {
    std::shared_ptr<T> doomed;  // Let go after the lock.
    WriterLock lock(mutex_);
    auto it = objects_.find(Value(handle));
    if (it == objects_.end() || it->second.get() != object) return;
    doomed = std::move(it->second);
    objects_.erase(it);
    free_.push_back(Value(handle));
  }

  // As RemoveQuietly, but nobody gets the handle before Recycle: what goes by it is yet to be taken
  // apart, or comes back under it.
  std::shared_ptr<T> RemoveKept(Handle handle) {
    WriterLock lock(mutex_);
    auto it = objects_.find(Value(handle));
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> removed = std::move(it->second);
    objects_.erase(it);
    return removed;
  }
  void Recycle(Handle handle) {
    WriterLock lock(mutex_);
    free_.push_back(Value(handle));
  }

  std::vector<std::pair<Handle, std::shared_ptr<T>>> All() const {
    std::vector<std::pair<Handle, std::shared_ptr<T>>> all;
    ReaderLock lock(mutex_);
    all.reserve(objects_.size());
    for (const auto& [value, object] : objects_) all.emplace_back(FromValue(value), object);
    return all;
  }

 private:
  static uint64_t Value(Handle handle) { return (uint64_t)handle; }
  static Handle FromValue(uint64_t value) { return (Handle)value; }

  mutable SharedMutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_ SIMCUDA_GUARDED_BY(mutex_);
  std::vector<uint64_t> free_ SIMCUDA_GUARDED_BY(mutex_);  // The last to come free at the back.
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_HANDLE_TABLE_H_
