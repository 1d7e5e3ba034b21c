// The bus in virtual time: one copy engine each way, first come first served, which share the bus
// when both are busy.
//
// A copy out goes in pieces, with the engine idle for a moment before each; see
// runtime/mover/copy_engine.cc. Times in nanoseconds.
#ifndef VRAMSPAN_TOOLS_REPLAY_SIMULATED_LINK_H_
#define VRAMSPAN_TOOLS_REPLAY_SIMULATED_LINK_H_

#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/base/units.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"

namespace vramspan::replay {

// How many other programs copy over the same bus, each way.
struct LinkCrowd {
  uint32_t in = 0, out = 0;
  bool operator==(const LinkCrowd&) const = default;
};

class SimulatedLink {
 public:
  explicit SimulatedLink(const ReplayPrices& prices);

  // `tag` comes back from Done when the copy has ended.
  void Start(bool in, Bytes size, uint64_t tag);
  // When the next copy ends if nothing is started before; kNever for none.
  uint64_t NextEnd() const;
  // Time passes up to `now`, no later than NextEnd.
  void Advance(uint64_t now);
  // From now on. All that copy one way get the same of it.
  void SetCrowd(const LinkCrowd& others) { others_ = {others.out, others.in}; }
  // The copies that have ended since the last call, in their order; until the next call.
  absl::Span<const uint64_t> TakeDone();
  bool any_done() const { return !done_.empty(); }
  // When the piece that is on its way out ends, or now.
  uint64_t PieceEnd() const;
  bool copies_in() const { return !in().copies.empty(); }
  bool copies_out() const { return !out().copies.empty(); }
  bool busy() const { return !in().copies.empty() || !out().copies.empty(); }

 private:
  struct Copy {
    uint64_t tag;
    // Bytes that are left, with those that could be copied while the engine begins with one in.
    double left;
  };
  struct Engine {
    std::deque<Copy> copies;
    double alone, beside;  // Bytes a nanosecond; with the time before each piece of a copy out.
  };
  const Engine& in() const { return engines_[1]; }
  const Engine& out() const { return engines_[0]; }
  double Rate(size_t engine) const;
  double Piece() const;  // Of a copy out, in bytes.

  const ReplayPrices prices_;
  std::array<Engine, 2> engines_;
  std::array<uint32_t, 2> others_{};  // As the engines.
  std::vector<uint64_t> done_, taken_;
  uint64_t now_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SIMULATED_LINK_H_
