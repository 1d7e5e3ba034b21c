#include "runtime/placement/forecast.h"

#include <algorithm>
#include <bit>

namespace vramspan {
namespace {

constexpr size_t kLeastCapacity = 64;
constexpr uint64_t kLongest = 16;
constexpr uint64_t kShort = 4;
constexpr uint64_t kMostSkipped = 4;
constexpr uint64_t kProofs = 8;
constexpr uint64_t kFewestProofs = 3;

// Any odd number without a pattern; the slot is taken from the high bits.
constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

// The finalizer of MurmurHash3 (A. Appleby): signatures need not be good hashes.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

uint64_t Power(uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= kFactor;
  return power;
}

}  // namespace

Forecast::Forecast(size_t capacity)
    : mask_(std::bit_ceil(std::max(capacity, kLeastCapacity)) - 1),
      slot_shift_(64 - std::bit_width(mask_) - 1),
      history_(mask_ + 1) {
  contexts_[0].length = kLongest;
  contexts_[1].length = kShort;
  contexts_[2].length = 1;
  for (Contexts& contexts : contexts_) {
    contexts.leaving = Power(contexts.length);
    contexts.ends.resize(2 * history_.size());
  }
}

void Forecast::Saw(uint64_t signature) {
  const bool counts = confident();
  const bool hit = anchored_ && At(cursor_) == signature;
  if (counts) ++(hit ? hits_ : misses_);

  for (Contexts& contexts : contexts_) {
    contexts.hash = contexts.hash * kFactor + Mix(signature);
    if (seen_ >= contexts.length) {
      contexts.hash -= contexts.leaving * Mix(At(seen_ - contexts.length));
    }
  }
  history_[seen_ & mask_] = signature;
  ++seen_;

  if (hit) {
    ++cursor_;
    ++streak_;
    doubted_ = false;
  } else {
    Mismatch(signature);
    if (anchored_ && seen_ - cursor_ > history_.size()) anchored_ = false;
  }
  for (Contexts& contexts : contexts_) {
    if (seen_ >= contexts.length) contexts.ends[Slot(contexts)] = static_cast<uint32_t>(seen_);
  }
}

void Forecast::Mismatch(uint64_t signature) {
  const bool proven = streak_ >= kProofs;
  streak_ = 0;
  if ((proven || doubted_) && SkipTo(signature)) {
    doubted_ = false;
  } else if (proven) {
    doubted_ = true;
  } else {
    doubted_ = false;
    if (!Anchor(contexts_[0]) && !Anchor(contexts_[1]) && !SkipTo(signature)) {
      Anchor(contexts_[2]);
    }
  }
}

bool Forecast::Anchor(const Contexts& contexts) {
  const uint32_t end = contexts.ends[Slot(contexts)];
  const uint32_t ago = static_cast<uint32_t>(seen_) - end;
  if (end == 0 || seen_ <= contexts.length || ago + contexts.length > history_.size()) return false;
  for (uint64_t i = 1; i <= contexts.length; ++i) {
    if (At(seen_ - i) != At(seen_ - ago - i)) return false;
  }
  cursor_ = seen_ - ago;
  anchored_ = true;
  return true;
}

bool Forecast::SkipTo(uint64_t signature) {
  if (!anchored_) return false;
  // The last position is that of `signature` itself.
  const uint64_t end = std::min(cursor_ + 1 + kMostSkipped, seen_ - 1);
  for (uint64_t position = cursor_ + 1; position < end; ++position) {
    if (At(position) != signature) continue;
    cursor_ = position + 1;
    return true;
  }
  return false;
}

bool Forecast::confident() const {
  return anchored_ && streak_ >= std::clamp<uint64_t>(period(), kFewestProofs, kProofs);
}

}  // namespace vramspan
