// A map from 64-bit keys to pairs of words that is read without a lock, for what every launch asks.
//
// Writers hold a lock of their own; a reader that meets one at work tries again, which takes as
// long as the write: some stores, or a sweep of the table where it is cleared. A key that is taken
// out keeps its slot until the table fills up. Tables that were outgrown are kept, since a reader
// may still look at one: together they are no larger than the last. 0 is no key.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LOOKUP_TABLE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LOOKUP_TABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/pause.h"

namespace vramspan {

class LookupTable {
 public:
  // All zeros are no value.
  struct Value {
    uint64_t first = 0, second = 0;

    explicit operator bool() const { return (first | second) != 0; }
    bool operator==(const Value&) const = default;
  };

  LookupTable() { Grow(kFirstSlots); }

  // Without a value where there is none.
  Value Find(uint64_t key) const {
    for (;;) {
      const uint64_t before = writes_.load(std::memory_order_acquire);
      const Slots& slots = *slots_.load(std::memory_order_acquire);
      if ((before & 1) == 0) [[likely]] {
        Value value;
        for (size_t i = slots.First(key);; i = slots.Next(i)) {
          // Acquire, so that the load of writes_ below comes after all of these.
          const uint64_t at = slots.slot[i].key.load(std::memory_order_acquire);
          if (at == key) value = slots.slot[i].Load();
          if (at == key || at == 0) break;
        }
        if (writes_.load(std::memory_order_relaxed) == before) [[likely]]
          return value;
      }
      Pause();
    }
  }

  // One writer at a time may call the rest. No value takes the key out.
  void Put(uint64_t key, Value value) {
    if (used_ * 2 >= slots_.load(std::memory_order_relaxed)->count) Rehash();
    Slots& slots = *slots_.load(std::memory_order_relaxed);
    const Write write(writes_);
    Store(slots, key, value);
  }
  void Clear() {
    Slots& slots = *slots_.load(std::memory_order_relaxed);
    const Write write(writes_);
    for (size_t i = 0; i < slots.count; ++i) slots.slot[i].Store(0, {});
    used_ = 0;
  }
  size_t slots() const { return slots_.load(std::memory_order_relaxed)->count; }

 private:
  static constexpr size_t kFirstSlots = 1024;

  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<uint64_t> first{0}, second{0};

    // Acquire and release: a reader that sees any of a write's stores sees then that `writes_` was
    // odd.
    Value Load() const {
      return {first.load(std::memory_order_acquire), second.load(std::memory_order_acquire)};
    }
    void Store(uint64_t k, Value value) {
      first.store(value.first, std::memory_order_release);
      second.store(value.second, std::memory_order_release);
      key.store(k, std::memory_order_release);
    }
  };
  struct Slots {
    explicit Slots(size_t n)
        : count(n), shift(64 - std::countr_zero(n)), slot(std::make_unique<Slot[]>(n)) {}
    size_t First(uint64_t key) const { return (key * 0x9e3779b97f4a7c15ull) >> shift; }
    size_t Next(size_t i) const { return (i + 1) & (count - 1); }
    const size_t count;
    const int shift;
    const std::unique_ptr<Slot[]> slot;
  };

  // writes_ is odd while one lives.
  class Write {
   public:
    explicit Write(std::atomic<uint64_t>& writes) : writes_(writes) {
      writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    ~Write() {
      writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

   private:
    std::atomic<uint64_t>& writes_;
  };

  void Store(Slots& slots, uint64_t key, Value value) {
    size_t i = slots.First(key);
    for (;; i = slots.Next(i)) {
      const uint64_t at = slots.slot[i].key.load(std::memory_order_relaxed);
      if (at == key) break;
      if (at != 0) continue;
      if (!value) return;
      ++used_;
      break;
    }
    slots.slot[i].Store(key, value);
  }

  // Makes room: drops keys that were taken out, and doubles where those that are left need it.
  void Rehash() {
    Slots& old = *slots_.load(std::memory_order_relaxed);
    std::vector<std::pair<uint64_t, Value>> kept;
    for (size_t i = 0; i < old.count; ++i) {
      const Value value = old.slot[i].Load();
      if (value) kept.push_back({old.slot[i].key.load(std::memory_order_relaxed), value});
    }
    const bool grows = kept.size() * 4 >= old.count;
    const Write write(writes_);
    used_ = 0;
    if (grows) {
      Grow(old.count * 2);
    } else {
      for (size_t i = 0; i < old.count; ++i) old.slot[i].Store(0, {});
    }
    for (const auto& [key, value] : kept) {
      Store(*slots_.load(std::memory_order_relaxed), key, value);
    }
  }
  void Grow(size_t count) {
    all_.push_back(std::make_unique<Slots>(count));
    slots_.store(all_.back().get(), std::memory_order_release);
  }

  std::atomic<Slots*> slots_{nullptr};
  std::atomic<uint64_t> writes_{0};
  size_t used_ = 0;  // Slots with a key.
  std::vector<std::unique_ptr<Slots>> all_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_LOOKUP_TABLE_H_
