// A map from 64-bit keys to pointers that is read without a lock, for what every launch asks.
//
// Writers hold a lock of their own; a reader that meets one at work tries again, which takes as
// long as the write: some stores, or a sweep of the table where it is cleared. The values belong to
// the caller, who keeps them as long as the table. A key that is taken out keeps its slot until the
// table fills up. Tables that were outgrown are kept, since a reader may still hold one: together
// they are no larger than the last. 0 is no key.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LOOKUP_TABLE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LOOKUP_TABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace vramspan {

template <typename V>
class LookupTable {
 public:
  LookupTable() { Grow(kFirstSlots); }

  // Null where there is none.
  const V* Find(uint64_t key) const {
    for (;;) {
      const uint64_t before = writes_.load(std::memory_order_acquire);
      const Slots& slots = *slots_.load(std::memory_order_acquire);
      if ((before & 1) == 0) [[likely]] {
        const V* value = nullptr;
        for (size_t i = slots.First(key);; i = slots.Next(i)) {
          // Acquire, so that the load of writes_ below comes after all of these.
          const uint64_t at = slots.slot[i].key.load(std::memory_order_acquire);
          if (at == key) value = slots.slot[i].value.load(std::memory_order_acquire);
          if (at == key || at == 0) break;
        }
        if (writes_.load(std::memory_order_relaxed) == before) [[likely]]
          return value;
      }
      __builtin_ia32_pause();
    }
  }

  // One writer at a time may call the rest. A null value takes the key out.
  void Put(uint64_t key, const V* value) {
    if (used_ * 2 >= slots_.load(std::memory_order_relaxed)->count) Rehash();
    Slots& slots = *slots_.load(std::memory_order_relaxed);
    const Write write(writes_);
    Store(slots, key, value);
  }
  void Clear() {
    Slots& slots = *slots_.load(std::memory_order_relaxed);
    const Write write(writes_);
    for (size_t i = 0; i < slots.count; ++i) slots.Set(i, 0, nullptr);
    used_ = 0;
  }
  size_t slots() const { return slots_.load(std::memory_order_relaxed)->count; }

 private:
  static constexpr size_t kFirstSlots = 1024;

  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<const V*> value{nullptr};
  };
  struct Slots {
    explicit Slots(size_t n)
        : count(n), shift(64 - std::countr_zero(n)), slot(std::make_unique<Slot[]>(n)) {}
    size_t First(uint64_t key) const { return (key * 0x9e3779b97f4a7c15ull) >> shift; }
    size_t Next(size_t i) const { return (i + 1) & (count - 1); }
    // Release, so that none of these is seen before the load of an even `writes_` fails.
    void Set(size_t i, uint64_t key, const V* value) {
      slot[i].value.store(value, std::memory_order_release);
      slot[i].key.store(key, std::memory_order_release);
    }
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

  void Store(Slots& slots, uint64_t key, const V* value) {
    size_t i = slots.First(key);
    for (;; i = slots.Next(i)) {
      const uint64_t at = slots.slot[i].key.load(std::memory_order_relaxed);
      if (at == key) break;
      if (at != 0) continue;
      if (value == nullptr) return;
      ++used_;
      break;
    }
    slots.Set(i, key, value);
  }

  // Makes room: drops keys that were taken out, and doubles where those that are left need it.
  void Rehash() {
    Slots& old = *slots_.load(std::memory_order_relaxed);
    std::vector<std::pair<uint64_t, const V*>> kept;
    for (size_t i = 0; i < old.count; ++i) {
      const V* const value = old.slot[i].value.load(std::memory_order_relaxed);
      if (value != nullptr)
        kept.push_back({old.slot[i].key.load(std::memory_order_relaxed), value});
    }
    const bool grows = kept.size() * 4 >= old.count;
    const Write write(writes_);
    used_ = 0;
    if (grows) {
      Grow(old.count * 2);
    } else {
      for (size_t i = 0; i < old.count; ++i) old.Set(i, 0, nullptr);
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
