#include "tools/replay/simulated_link.h"

#include <algorithm>
#include <cmath>

#include "runtime/placement/move_limits.h"

namespace vramspan::replay {
namespace {

// Less than a byte is left: rounding.
constexpr double kNothing = 0.5;

}  // namespace

SimulatedLink::SimulatedLink(const ReplayPrices& prices) : prices_(prices) {
  // Each direction's part of what goes both ways is as its own rate is.
  const double part = std::min(1.0, prices.copy_both / (prices.copy_in + prices.copy_out));
  engines_[1] = {{}, prices.copy_in, prices.copy_in * part};
  const auto with_pauses = [&](double rate, Bytes piece) {
    const auto bytes = static_cast<double>(piece.value);
    return bytes / (bytes / rate + 1e3 * prices.piece_start);
  };
  engines_[0] = {{},
                 with_pauses(prices.copy_out, kOutPiece),
                 with_pauses(prices.copy_out * part, kOutPieceBesideIn)};
}

void SimulatedLink::Start(bool in, Bytes size, uint64_t tag) {
  const double bytes = static_cast<double>(size.value);
  // A microsecond is so many bytes: GB/s are kilobytes a microsecond.
  const double idle = in ? 1e3 * prices_.copy_start * prices_.copy_in : 0;
  engines_[in].copies.push_back({tag, bytes + idle});
}

uint64_t SimulatedLink::NextEnd() const {
  if (!busy()) return kNever;
  uint64_t next = kNever;
  for (size_t e = 0; e < engines_.size(); ++e) {
    if (engines_[e].copies.empty()) continue;
    const double time = std::ceil(std::max(0.0, engines_[e].copies.front().left) / Rate(e));
    next = std::min(next, now_ + static_cast<uint64_t>(time));
  }
  return next;
}

void SimulatedLink::Advance(uint64_t now) {
  if (now == now_ || !busy()) {
    now_ = now;
    return;
  }
  const double passed = static_cast<double>(now - now_);
  const double rates[] = {Rate(0), Rate(1)};
  now_ = now;
  for (size_t e = 0; e < engines_.size(); ++e) {
    std::deque<Copy>& copies = engines_[e].copies;
    if (copies.empty()) continue;
    copies.front().left -= passed * rates[e];
    if (copies.front().left > kNothing) continue;
    done_.push_back(copies.front().tag);
    copies.pop_front();
  }
}

absl::Span<const uint64_t> SimulatedLink::TakeDone() {
  taken_.swap(done_);
  done_.clear();
  return taken_;
}

double SimulatedLink::Piece() const {
  return static_cast<double>((copies_in() ? kOutPieceBesideIn : kOutPiece).value);
}

double SimulatedLink::Rate(size_t engine) const {
  const Engine& e = engines_[engine];
  const bool both = !engines_[1 - engine].copies.empty() || others_[1 - engine] != 0;
  return (both ? e.beside : e.alone) / (1 + others_[engine]);
}

uint64_t SimulatedLink::PieceEnd() const {
  if (out().copies.empty()) return now_;
  const double left = std::fmod(std::max(0.0, out().copies.front().left), Piece());
  return now_ + static_cast<uint64_t>(std::ceil(left / Rate(0)));
}

}  // namespace vramspan::replay
