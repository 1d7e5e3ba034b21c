// What a process and the broker show each other without a message: a page each, as words of eight
// bytes (docs/broker-protocol.md). The process writes one, the broker the other.
//
// Whoever reads takes a copy of the words first, each once. The other may write at any time: words
// need not fit together, and whoever reads has to judge each by itself.
//
// Pure: words in, values out.
#ifndef VRAMSPAN_RUNTIME_LEASE_PAGES_H_
#define VRAMSPAN_RUNTIME_LEASE_PAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan::lease {

inline constexpr size_t kPageSize = 4096;

// Of the process. The first word is the version, in both pages.
struct ProcessPage {
  static constexpr size_t kWords = 13;
  // It can hold its work; some of it runs; some waits for the turn on the GPU.
  static constexpr uint64_t kHolds = 1, kRuns = 2, kWaits = 4;

  uint64_t beat = 0;  // Another number each time that its thread has looked round.
  Bytes used_device, used_host;
  Bytes wanted_device, wanted_host;
  // Of the used device memory: no two overlap.
  Bytes cached, clean, cold;
  uint64_t stalled = 0;  // Nanoseconds that its work has waited for memory, in all.
  uint64_t works = 0;    // Pieces of work that it has submitted, in all.
  uint64_t flags = 0;

  bool operator==(const ProcessPage&) const = default;
};

// Of the broker.
struct BrokerPage {
  static constexpr size_t kWords = 6;
  static constexpr uint64_t kFenced = 1, kMayEvict = 2, kMayFetch = 4, kHold = 8;

  uint64_t revision = 0;
  Bytes device, host;  // Grants.
  uint64_t flags = 0;

  bool operator==(const BrokerPage&) const = default;
};

std::array<uint64_t, ProcessPage::kWords> ToWords(const ProcessPage& page);
std::array<uint64_t, BrokerPage::kWords> ToWords(const BrokerPage& page);

// False: no page of this protocol. A page of a later version has these words too.
bool FromWords(const std::array<uint64_t, ProcessPage::kWords>& words, ProcessPage* page);
bool FromWords(const std::array<uint64_t, BrokerPage::kWords>& words, BrokerPage* page);

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_PAGES_H_
