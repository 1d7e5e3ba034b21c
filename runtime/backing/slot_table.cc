#include "runtime/backing/slot_table.h"

#include "runtime/base/grow.h"
#include "runtime/base/log.h"

namespace vramspan {

uint32_t SlotTable::Insert(const Slot& slot) {
  uint32_t index;
  if (empty_.empty()) {
    index = end();
    GrowTo(handles_, size_t{index} + 1);
    GrowTo(info_, size_t{index} + 1);
  } else {
    index = empty_.back();
    empty_.pop_back();
  }
  handles_[index] = slot.handle;
  info_[index] = Info();
  Change(index, State::kEmpty, State::kCached);
  SetAlias(index, slot.alias);
  cached_.push_back(index);
  return index;
}

uint32_t SlotTable::HoldLatest(bool with_alias) {
  for (size_t place = cached_.size(); place-- > 0;) {
    const uint32_t index = cached_[place];
    if (with_alias && info_[index].alias_page == 0) continue;
    cached_.erase(cached_.begin() + static_cast<std::ptrdiff_t>(place));
    Change(index, State::kCached, State::kHeld);
    return index;
  }
  return kNone;
}

Slot SlotTable::RemoveOldest() {
  const uint32_t index = cached_.front();
  const Slot slot = Get(index);
  cached_.pop_front();
  empty_.push_back(index);
  Change(index, State::kCached, State::kEmpty);
  return slot;
}

Slot SlotTable::Remove(uint32_t index) {
  VS_CHECK(!cached_.empty() && cached_.back() == index);
  const Slot slot = Get(index);
  cached_.pop_back();
  empty_.push_back(index);
  Change(index, State::kCached, State::kEmpty);
  return slot;
}

Slot SlotTable::Replace(uint32_t index, const Slot& slot) {
  VS_CHECK(StateOf(index) == State::kHeld);
  const Slot old = Get(index);
  handles_[index] = slot.handle;
  SetAlias(index, slot.alias);
  return old;
}

void SlotTable::Release(uint32_t index) {
  const State from = StateOf(index) == State::kParked ? State::kParked : State::kHeld;
  Change(index, from, State::kCached);
  if (from == State::kParked) --parked_;
  cached_.push_back(index);
}

void SlotTable::Park(uint32_t index) {
  Change(index, State::kHeld, State::kParked);
  ++parked_;
}

void SlotTable::Unpark(uint32_t index) {
  Change(index, State::kParked, State::kHeld);
  --parked_;
}

Slot SlotTable::Get(uint32_t index) const {
  VS_CHECK(StateOf(index) != State::kEmpty);
  const uint32_t page = info_[index].alias_page;
  return {handles_[index], page == 0 ? DevicePtr() : alias_base_ + kGranularity * uint64_t{page}};
}

void SlotTable::SetAlias(uint32_t index, DevicePtr alias) {
  VS_CHECK(StateOf(index) != State::kEmpty);
  if (alias.value == 0) {
    info_[index].alias_page = 0;
    return;
  }
  const uint64_t page = (alias - alias_base_) / kGranularity;
  VS_CHECK(page != 0 && page < (1u << 30));
  info_[index].alias_page = static_cast<uint32_t>(page & ((1u << 30) - 1));
}

void SlotTable::Change(uint32_t index, State from, State to) {
  VS_CHECK(StateOf(index) == from && index < end());
  info_[index].state = to;
}

}  // namespace vramspan
