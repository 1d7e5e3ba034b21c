#include "tools/broker/core/water.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

// Deals `amount` out in proportion to `part(share)`. The bytes that rounding leaves go to those who
// lost some to it. REQUIRES: the parts sum to `whole` > 0.
template <typename Part>
void DealOut(Bytes amount, Wide whole, std::span<Share> shares, Part part) {
  uint64_t left = amount.value;
  for (Share& share : shares) {
    const Bytes dealt(static_cast<uint64_t>(Wide{amount.value} * part(share) / whole));
    left -= dealt.value;
    share.share += dealt;
  }
  for (Share& share : shares) {
    if (left == 0) return;
    if (Wide{amount.value} * part(share) % whole == 0) continue;
    --left;
    share.share += Bytes(1);
  }
}

// The floors do not fit: all get their hard part, and of the rest as their floors go beyond it.
void FillFloors(Bytes capacity, Bytes hard, std::span<Share> shares) {
  Wide beyond = 0;
  for (Share& share : shares) {
    share.share = share.hard;
    beyond += (share.floor - share.hard).value;
  }
  if (capacity <= hard || beyond == 0) return;
  DealOut(capacity - hard, beyond, shares,
          [](const Share& share) { return (share.floor - share.hard).value; });
}

// What those whose share is not settled have between them.
struct Open {
  Bytes rest;
  Wide weight = 0;
};

// Settles whom the level puts below the floor; or, if they weigh more, whom it puts above the
// ceiling. Says whether there was anybody. As with CSS's flexible lengths nobody is settled too
// early, so it ends after as many rounds as there are shares.
bool Settle(std::span<Share> shares, Open& open) {
  const Open was = open;
  const auto level = [&](const Share& share) { return Wide{was.rest.value} * share.weight; };
  const auto floor = [&](const Share& share) { return was.weight * share.floor.value; };
  const auto ceiling = [&](const Share& share) { return was.weight * share.ceiling.value; };
  Wide below = 0, above = 0;
  for (const Share& share : shares) {
    if (share.settled) continue;
    if (level(share) < floor(share)) below += floor(share) - level(share);
    if (level(share) > ceiling(share)) above += level(share) - ceiling(share);
  }
  if (below == 0 && above == 0) return false;
  for (Share& share : shares) {
    if (share.settled) continue;
    const bool floored = below >= above && level(share) < floor(share);
    const bool capped = above >= below && level(share) > ceiling(share);
    if (!floored && !capped) continue;
    share.settled = true;
    share.share = floored ? share.floor : share.ceiling;
    open.rest -= share.share;
    open.weight -= share.weight;
  }
  return true;
}

}  // namespace

void Waterfill(Bytes capacity, std::span<Share> shares) {
  Bytes hard, floors;
  Open open{capacity};
  for (Share& share : shares) {
    hard = Plus(hard, share.hard);
    floors = Plus(floors, share.floor);
    open.weight += share.weight;
    share.share = Bytes();
    share.settled = false;
  }
  if (floors >= capacity) {
    FillFloors(capacity, hard, shares);
    return;
  }
  while (open.weight > 0 && Settle(shares, open)) {
  }
  if (open.weight == 0) return;
  DealOut(open.rest, open.weight, shares,
          [](const Share& share) { return share.settled ? 0 : share.weight; });
}

}  // namespace vramspan::broker
