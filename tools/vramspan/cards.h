// Cards that people own, as far as estimates need them: memory and link, and where each figure is
// from. How fast their kernels are is not here.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_CARDS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_CARDS_H_

#include <absl/types/span.h>

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/replay/replay_prices.h"

namespace vramspan::cards {

struct Link {
  const char* name;  // "PCIe 4 x16".
  double gb_per_s;   // Copies of one way, of pinned memory.
  const char* source;
};

struct Card {
  const char* name;  // As on the command line.
  int memory_gib;
  double memory_gb_per_s;
  const Link* link;
  const char* source;  // Of the memory's figures.
};

absl::Span<const Card> All();

// "rtx3060,rtx4090", or "all". InvalidArgument names what there is.
StatusOr<std::vector<Card>> Parse(const std::string& text);

// What programs may have of it: a budget by default (docs/budgets.md).
Bytes Budget(const Card& card);

// An H100's, with the card's memory and a link of so many GB/s, to which all copies and what is
// served in place are held.
replay::ReplayPrices PricesOf(const Card& card, double link_gb_per_s);

// The table, with its sources, for people.
std::string Table();

}  // namespace vramspan::cards

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_CARDS_H_
