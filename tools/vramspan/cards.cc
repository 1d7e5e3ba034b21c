#include "tools/vramspan/cards.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <string_view>

#include "runtime/backing/budget.h"
#include "runtime/base/clean_text.h"

namespace vramspan::cards {
namespace {

constexpr char kXda[] = "xda-developers.com, 2023-05-18";
constexpr char kTweakTown[] = "tweaktown.com, 2025-01-07";
constexpr char kMeasured[] = "measured (docs/findings/0003-what-a-remap-costs.md)";

constexpr Link kPcie4x8 = {"PCIe 4 x8", 12.5, "half of PCIe 4 x16"};
constexpr Link kPcie4x16 = {"PCIe 4 x16", 25, "an A100, github.com/ZaidQureshi/bam/issues/54"};
constexpr Link kPcie5x16 = {"PCIe 5 x16", 55.1, "measured on an H100"};

constexpr Card kCards[] = {
    {"rtx3060", 12, 360, &kPcie4x16, kXda},
    {"rtx3060ti", 8, 448, &kPcie4x16, kXda},
    {"rtx3090", 24, 936, &kPcie4x16, "cpu-gpu.alldbin.com"},
    {"rtx4060", 8, 272, &kPcie4x8, kXda},
    {"rtx4060ti", 8, 288, &kPcie4x8, kXda},
    {"rtx4060ti-16gb", 16, 288, &kPcie4x8, kXda},
    {"rtx4070", 12, 504, &kPcie4x16, "cpu-gpu.alldbin.com"},
    {"rtx4090", 24, 1008, &kPcie4x16, "octo24.com, a seller's data sheet"},
    {"rtx5070ti", 16, 896, &kPcie5x16, kTweakTown},
    {"rtx5080", 16, 960, &kPcie5x16, kTweakTown},
    {"rtx5090", 32, 1792, &kPcie5x16, kTweakTown},
    {"h100", 80, 3043, &kPcie5x16, kMeasured},
    {"h200", 141, 4326, &kPcie5x16, kMeasured},
};

}  // namespace

absl::Span<const Card> All() { return kCards; }

StatusOr<std::vector<Card>> Parse(const std::string& text) {
  if (text == "all") return std::vector<Card>(std::begin(kCards), std::end(kCards));
  std::vector<Card> cards;
  for (const std::string_view name : absl::StrSplit(text, ',')) {
    const auto same = [name](const Card& card) { return name == card.name; };
    const auto* const found = absl::c_find_if(kCards, same);
    if (found == std::end(kCards)) {
      std::string names;
      for (const Card& card : kCards) absl::StrAppend(&names, ", ", card.name);
      return absl::InvalidArgumentError(absl::StrCat("--card: there is no card '", Repeated(name),
                                                     "' here; use all, or a list of",
                                                     names.substr(1)));
    }
    if (absl::c_none_of(cards, same)) cards.push_back(*found);
  }
  return cards;
}

Bytes Budget(const Card& card) {
  const Bytes memory = GiB(static_cast<uint64_t>(card.memory_gib));
  return DefaultDeviceBudget(memory, memory);
}

replay::ReplayPrices PricesOf(const Card& card, double link_gb_per_s) {
  replay::ReplayPrices prices;
  const double part = link_gb_per_s / prices.copy_in;
  prices.copy_in *= part;
  prices.copy_out *= part;
  prices.copy_both *= part;
  prices.decisions.serve_gb_per_s *= part;
  prices.decisions.move_gb_per_s *= part;
  prices.decisions.device_gb_per_s = card.memory_gb_per_s;
  return prices;
}

std::string Table() {
  std::string out = absl::StrFormat("%-15s %7s %7s %8s  %-11s %6s  %s\n", "card", "GiB", "budget",
                                    "GB/s", "link", "GB/s", "memory's figures are from");
  for (const Card& c : kCards) {
    absl::StrAppendFormat(&out, "%-15s %7d %7.1f %8.0f  %-11s %6.1f  %s\n", c.name, c.memory_gib,
                          static_cast<double>(Budget(c).value) / (1 << 30), c.memory_gb_per_s,
                          c.link->name, c.link->gb_per_s, c.source);
  }
  absl::StrAppend(&out, "\nLinks\n");
  for (const Link* const link : {&kPcie4x8, &kPcie4x16, &kPcie5x16}) {
    absl::StrAppendFormat(&out, "  %-11s %6.1f GB/s: %s\n", link->name, link->gb_per_s,
                          link->source);
  }
  return out;
}

}  // namespace vramspan::cards
