// What each work of a look-ahead is the first to need, in bytes, by its place, and in sum over
// groups of 64 places: what is asked of many works takes a look at their groups. What comes of the
// groups together is found once for a plan (Settle).
//
// Pure. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/splice.h"

namespace vramspan {

class WorkSums {
 public:
  static constexpr size_t kGroup = 64;
  static constexpr size_t kNone = SIZE_MAX;
  struct Sums {
    uint64_t missing = 0, idle = 0, on_the_way = 0;

    void Add(const Sums& other) {
      missing += other.missing;
      idle += other.idle;
      on_the_way += other.on_the_way;
    }
    bool operator==(const Sums&) const = default;
  };

  // --- places ---
  size_t size() const { return own_.size(); }
  const Sums& operator[](size_t at) const { return own_[at]; }
  void Clear();
  // One more, which needs nothing as yet.
  void Push() {
    const bool begins = own_.size() % kGroup == 0 && own_.size() == groups_.size() * kGroup;
    if (begins) groups_.emplace_back();
    own_.emplace_back();
  }
  // Only the first so many are kept. REQUIRES: the others need nothing.
  void Shrink(size_t size) { own_.resize(size); }
  // The first so many go, and the others take their places. REQUIRES: they need nothing.
  void EraseFirst(size_t count);
  // REQUIRES: before splice.begin no place needs anything.
  void Replace(const Splice& splice, const std::vector<Sums>& came);

  // --- sums ---
  // So many more bytes; what is added may be less than nothing.
  void AddMissing(size_t at, uint64_t bytes) {
    Group& group = groups_[at / kGroup];
    const uint64_t before = own_[at].missing;
    const uint64_t now = before + bytes;
    if (now >= group.most_missing) {
      group.most_missing = now;
    } else {
      group.most_is_old |= before == group.most_missing;
    }
    Add(at, &Sums::missing, bytes);
  }
  void AddIdle(size_t at, uint64_t bytes) { Add(at, &Sums::idle, bytes); }
  void AddOnTheWay(size_t at, uint64_t bytes) { Add(at, &Sums::on_the_way, bytes); }
  const Sums& all() const { return all_; }

  // --- after Settle, while nothing changes ---
  // REQUIRES: before `begin` no place needs anything, and no other is asked for.
  void Settle(size_t begin);
  // The most bytes that are missing at one place.
  uint64_t most_missing() const { return most_missing_; }
  // What is missing and on the way in all places before that.
  Sums Before(size_t at) const;
  // What is idle from the place on.
  uint64_t IdleFrom(size_t at) const;

  // --- places that need something; after Settle, too ---
  // The first from the place on, before `end`, that lacks something (it is missing, or on the way)
  // and of which `finds` is true, told the place and its sums; `end` for none. Of each group that
  // has any, `skips` is told the first, and what is missing up to the group's end.
  template <typename Skips, typename Finds>
  size_t FindLacking(size_t at, size_t end, Skips skips, Finds finds) const {
    for (size_t g = at / kGroup; g * kGroup < end; ++g) {
      uint64_t bits = groups_[g].lacking;
      if (g == at / kGroup) bits &= ~uint64_t{0} << at % kGroup;
      const auto place = [&] { return g * kGroup + static_cast<size_t>(std::countr_zero(bits)); };
      if (bits == 0 || skips(place(), groups_[g].before.missing + groups_[g].sums.missing))
        continue;
      for (; bits != 0; bits &= bits - 1) {
        if (place() >= end) return end;
        if (finds(place(), own_[place()])) return place();
      }
    }
    return end;
  }
  // The last up to the place where something is idle; kNone where that is before `begin`, at least.
  size_t LastIdle(size_t at, size_t begin) const;
  // All that is kept by group, against what is kept by place.
  bool AreRight() const;

 private:
  struct Group {
    Sums sums, before;
    uint64_t lacking = 0, idle = 0;  // A bit for each place that lacks something, or has it idle.
    uint64_t most_missing = 0;       // At one place, or more than that if it is old.
    bool most_is_old = false;
  };

  void Add(size_t at, uint64_t Sums::*what, uint64_t bytes) {
    Group& group = groups_[at / kGroup];
    own_[at].*what += bytes;
    group.sums.*what += bytes;
    all_.*what += bytes;
    Mark(at, &group);
  }
  void Mark(size_t at, Group* group) const {
    const uint64_t bit = uint64_t{1} << at % kGroup;
    const auto mark = [bit](uint64_t* bits, bool is) { *bits = is ? *bits | bit : *bits & ~bit; };
    mark(&group->lacking, (own_[at].missing | own_[at].on_the_way) != 0);
    mark(&group->idle, own_[at].idle != 0);
  }
  // As the places say.
  Group Made(size_t group) const;

  std::vector<Sums> own_;  // By place.
  std::vector<Group> groups_;
  Sums all_;
  uint64_t most_missing_ = 0;
  size_t last_idle_ = 0;  // Groups behind it have nothing idle.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_
