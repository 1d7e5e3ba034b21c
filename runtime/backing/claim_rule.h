// How programs of one user share a device that no broker shares out (docs/budgets.md). What they
// have taken, and what their budgets let them take yet, is no more than what the device has for
// them. Nobody is made to give back what it uses.
//
// Pure: what is free, and what others have announced, are values.
#ifndef VRAMSPAN_RUNTIME_BACKING_CLAIM_RULE_H_
#define VRAMSPAN_RUNTIME_BACKING_CLAIM_RULE_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/backing/budget.h"
#include "runtime/base/units.h"

namespace vramspan {

// What the others that live have announced.
struct OtherClaims {
  uint32_t count = 0;
  Bytes taken;  // Of the driver, and so missing from what is free.
  Bytes ahead;  // What their budgets let them take yet.
  // Of their budgets, and what they have yet to give back, what they do not keep where somebody
  // lacks memory.
  Bytes spare;
  bool wants = false;  // One of them lacks device memory, or soon will.
  // What others have taken who say nothing any more, as where they are stopped. It is theirs, and
  // missing from what is free; no more is kept for them.
  Bytes lapsed;
  bool news = false;  // Some of that was announced since this program looked last.

  bool None() const { return count == 0 && lapsed == Bytes(0); }
};

// The device as one program sees it.
struct DeviceView {
  Bytes total;
  Bytes free;          // As the driver says.
  Bytes ceiling;       // The budget when alone.
  Bytes budget;        // Until now.
  Bytes taken;         // Of the driver.
  Bytes used;          // In chunks, and about to be.
  Bytes peak;          // The most that was used lately, where that is more.
  bool lacks = false;  // It asked for more than its budget, lately.
  // The driver refused when so much was free: that much is none of ours.
  std::optional<Bytes> refused_at;
  OtherClaims others;
};

constexpr Bytes LessOrNone(Bytes a, Bytes b) { return a > b ? a - b : Bytes(0); }
constexpr Bytes WholeGranules(Bytes b) { return Bytes(b.value & ~(kGranularity.value - 1)); }

// A budget follows no change that is smaller, but where it promises too much.
constexpr Bytes ClaimStep(Bytes total) {
  return std::clamp(WholeGranules(Bytes(total.value / 256)), kGranularity, MiB(256));
}

// Left to the driver beside others: each has a context, modules and workspaces.
inline Bytes ClaimReserve(const DeviceView& v) {
  const Bytes all = v.taken + v.others.taken + v.others.lapsed + v.free;
  return Bytes(DeviceHeadroom(v.total, all).value / 2);
}

// The most that this program may have while the others may take what they announced.
inline Bytes ClaimRoom(const DeviceView& v) {
  return WholeGranules(v.taken + LessOrNone(v.free, v.others.ahead + ClaimReserve(v)));
}

// The budget that this program would have begun with without the others.
inline Bytes AloneBudget(const DeviceView& v) {
  const Bytes all = v.free + v.taken + v.others.taken + v.others.lapsed;
  return DefaultDeviceBudget(v.total, std::min(v.total, all));
}

// What each may have where all are alike.
inline Bytes FairShare(const DeviceView& v) {
  const Bytes all = LessOrNone(v.taken + v.others.taken + v.free, ClaimReserve(v));
  return WholeGranules(Bytes(all.value / (uint64_t{v.others.count} + 1)));
}

// What a program begins with beside others: more than its share only if it asks for it.
inline Bytes StartBudget(const DeviceView& v) { return std::min(ClaimRoom(v), FairShare(v)); }

// Room to grow beside what is used. Half of it left is little.
constexpr Bytes GrowthRoom(Bytes total, Bytes used) {
  const Bytes step = ClaimStep(total), most = Bytes(total.value / 16);
  return RoundUp(std::clamp(Bytes(used.value / 3), step, std::max(step, most)), kGranularity);
}

// Whether it lacks memory, or soon will.
constexpr bool Wants(const DeviceView& v) {
  const bool little = v.budget < v.used + Bytes(GrowthRoom(v.total, v.used).value / 2);
  return v.lacks || (little && v.budget < v.ceiling);
}

// What it keeps where others lack memory. Programs take and give back in turns: what one did not
// use for a moment it may need in the next.
constexpr Bytes ClaimKeeps(const DeviceView& v) {
  const Bytes needs = std::max(v.used, v.peak);
  return std::min(v.budget, needs + GrowthRoom(v.total, needs));
}

// What it should have, if there is room.
inline Bytes ClaimGoal(const DeviceView& v) {
  const Bytes keeps = ClaimKeeps(v);
  const bool wants = Wants(v);
  if (v.others.wants && !wants) return keeps;
  if (v.others.wants || !wants) return std::max(FairShare(v), keeps);
  return v.ceiling;
}

// The most that the budget may be, where so much is there beside the others' budgets: see
// NextBudget.
inline Bytes MostBudget(const DeviceView& v, Bytes room) {
  Bytes most = v.ceiling;
  if (!v.others.None()) most = std::min(most, room);
  if (v.refused_at.has_value()) {
    most = std::min(most, WholeGranules(v.taken + LessOrNone(v.free, *v.refused_at)));
  }
  return most;
}

// What the budget would come to if this program asked for all.
inline Bytes ClaimReach(const DeviceView& v) {
  return std::max(v.budget, MostBudget(v, ClaimRoom(v) + v.others.spare));
}

// Whether who lacks memory may wait for others to give some up. What is less than a step for each
// of them they keep.
inline bool MayCome(const DeviceView& v) {
  const Bytes step = ClaimStep(v.total);
  return v.others.spare >= Bytes(step.value * v.others.count) && v.others.count != 0 &&
         v.budget + step <= ClaimGoal(v);
}

// The budget from now on. Who is alone has what it had without others, whatever is free: what the
// driver can take back by itself, as managed memory, is not missing. Only where the driver has
// refused is that otherwise.
inline Bytes NextBudget(const DeviceView& v) {
  const Bytes most = MostBudget(v, ClaimRoom(v));
  Bytes next = most;
  if (!v.others.None()) {
    next = std::min(most, ClaimGoal(v));
    const Bytes change = std::max(next, v.budget) - std::min(next, v.budget);
    if (change < ClaimStep(v.total) && v.budget <= most && !Wants(v)) next = v.budget;
  }
  return std::min(std::max(next, v.used), v.ceiling);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_CLAIM_RULE_H_
