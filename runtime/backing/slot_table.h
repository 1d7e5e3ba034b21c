// The slots of one chunk size, by index, and what each is in use for. Pure bookkeeping.
//
// Metadata: 12 bytes a slot, 4 more for one that is cached. Threads: not safe; the pool's lock
// guards it.
#ifndef VRAMSPAN_RUNTIME_BACKING_SLOT_TABLE_H_
#define VRAMSPAN_RUNTIME_BACKING_SLOT_TABLE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/backing/slot.h"

namespace vramspan {

class SlotTable {
 public:
  enum class State : uint32_t {
    kEmpty,   // No handle; the index is used again.
    kCached,  // Nobody's.
    kHeld,    // A chunk's.
    kParked,  // Nobody's, but still mapped where a chunk was.
  };
  static constexpr uint32_t kNone = 0xffffffffu;

  // Aliases are multiples of 2 MiB above `alias_base`, where none lies.
  explicit SlotTable(DevicePtr alias_base = {}) : alias_base_(alias_base) {}

  // As a cached slot, the latest.
  uint32_t Insert(const Slot& slot);
  // The cached slot that was used last, held from then on; kNone where there is none. `with_alias`:
  // only one that has its alias.
  uint32_t HoldLatest(bool with_alias);
  // Takes out the cached slot that was used longest ago. REQUIRES: cached() != 0.
  Slot RemoveOldest();

  // Takes out the cached slot at `index`. REQUIRES: it was released last.
  Slot Remove(uint32_t index);
  // Another handle and alias in its place; what it was. REQUIRES: held.
  Slot Replace(uint32_t index, const Slot& slot);

  void Release(uint32_t index);  // Held or parked, to cached.
  void Park(uint32_t index);     // Held, to parked.
  void Unpark(uint32_t index);   // Parked, to held.

  // REQUIRES: not empty.
  Slot Get(uint32_t index) const;
  void SetAlias(uint32_t index, DevicePtr alias);
  // kEmpty for an index there is none of.
  State StateOf(uint32_t index) const {
    return index < info_.size() ? info_[index].state : State::kEmpty;
  }

  uint32_t end() const { return static_cast<uint32_t>(info_.size()); }
  size_t cached() const { return cached_.size(); }
  size_t parked() const { return parked_; }

 private:
  struct Info {
    State state : 2 = State::kEmpty;
    uint32_t alias_page : 30 = 0;  // In units of 2 MiB from the base; 0 for none.
  };
  static_assert(sizeof(Info) == 4);

  void Change(uint32_t index, State from, State to);

  DevicePtr alias_base_;
  std::vector<CUmemGenericAllocationHandle> handles_;
  std::vector<Info> info_;
  std::deque<uint32_t> cached_;  // The latest used last.
  std::deque<uint32_t> empty_;
  size_t parked_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_SLOT_TABLE_H_
