// What each work of a look-ahead is the first to need, in bytes, by its place, and in sum over
// groups of 64 places: what is asked of many works takes a look at their groups. What comes of the
// groups together is found once for a plan (Settle).
//
// Pure. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_

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
  void Push();
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
  void Settle();
  // The most bytes that are missing at one place.
  uint64_t most_missing() const { return most_missing_; }
  // Of all places before that.
  Sums Before(size_t at) const;
  // The bytes that are missing up to the end of the place's group.
  uint64_t MissingThroughGroup(size_t at) const {
    const Group& group = groups_[at / kGroup];
    return group.before.missing + group.sums.missing;
  }

  // --- places that need something ---
  // The first from the place on, before `end`, where something is missing; `end` for none.
  size_t NextMissing(size_t at, size_t end) const;
  // The last up to the place where something is idle; kNone where that is before `begin`, at least.
  size_t LastIdle(size_t at, size_t begin) const;
  // All that is kept by group, against what is kept by place.
  bool AreRight() const;

 private:
  struct Group {
    Sums sums, before;
    uint64_t missing = 0, idle = 0;  // A bit for each place where something is.
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
    group->missing = own_[at].missing != 0 ? group->missing | bit : group->missing & ~bit;
    group->idle = own_[at].idle != 0 ? group->idle | bit : group->idle & ~bit;
  }
  // As the places say.
  Group Made(size_t group) const;

  std::vector<Sums> own_;  // By place.
  std::vector<Group> groups_;
  Sums all_;
  uint64_t most_missing_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_WORK_SUMS_H_
