#include "tools/replay/open_work.h"

namespace vramspan::replay {

bool OpenWork::Continues(const trace::WorkEvent& e, const RawSets& sets) {
  told_ += e.ranges.size();
  if (!open_ || e.id != id_) return false;
  if (known_) Append(sets[*known_], true);
  known_.reset();
  single_ = false;
  // Its code may be another one's.
  before_[e.code].block = kNone;
  Append(e.told(), e.before != nullptr);
  return true;
}

std::optional<uint32_t> OpenWork::Close(RawSets* sets) {
  std::optional<uint32_t> set;
  if (open_) {
    Before& before = before_[code_];
    set = known_ ? *known_ : sets->Add(ranges_, before.set);
    // Of work that is told by several records the last one's ranges are not all.
    before = {single_ ? block_ : kNone, *set};
  }
  open_ = false;
  known_.reset();
  ranges_.clear();
  return set;
}

bool OpenWork::Known(const trace::WorkEvent& e, uint32_t block) {
  // What "as before" stands for from now on, should this one be left out.
  Before& before = before_[e.code];
  const bool known = e.before != nullptr && before.block == block;
  if (!known) before.block = kNone;
  return known;
}

void OpenWork::Open(const trace::WorkEvent& e, uint32_t block, bool known) {
  id_ = e.id;
  open_ = single_ = true;
  code_ = e.code;
  if (known) {
    known_ = before_[e.code].set;
  } else {
    Append(e.told(), e.before != nullptr);
  }
  block_ = block;
}

void OpenWork::Append(const std::vector<trace::TracedRange>& ranges, bool again) {
  if (again) told_ += ranges.size();
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
}

}  // namespace vramspan::replay
