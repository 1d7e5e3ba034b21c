#include "runtime/api/launch_memo.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/base/mix.h"

namespace vramspan {
namespace {

std::atomic<size_t> bytes_of_all{0};

}  // namespace

bool LaunchMemo::IsSame(const Known& known, const Submission& launch, const Grounds& grounds) {
  // Of a module that is gone another kernel may have the handle.
  return known.code == launch.code && known.of == launch.kernel && known.shape == launch.shape &&
         known.layout == launch.parameters.layout && known.grounds == grounds &&
         launch.parameters.Equal(known.block);
}

uint64_t LaunchMemo::HashOf(const Submission& launch) {
  const absl::Span<const char> block = launch.parameters.Block(&block_);
  uint64_t hash = Mix(reinterpret_cast<uintptr_t>(launch.code), launch.shape);
  uint64_t lanes[2] = {hash, block.size()};
  size_t at = 0;
  for (; at + sizeof(lanes) <= block.size(); at += sizeof(lanes)) {
    uint64_t words[2];
    std::memcpy(words, &block[at], sizeof(words));
    for (int i = 0; i < 2; ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * 0x9e3779b97f4a7c15u;
      lanes[i] ^= lanes[i] >> 29;
    }
  }
  uint64_t rest[2] = {};
  if (at < block.size()) std::memcpy(rest, &block[at], block.size() - at);
  for (int i = 0; i < 2; ++i) hash = Mix(hash ^ lanes[i], rest[i]);
  return hash;
}

LaunchMemo::Known* LaunchMemo::Find(const Submission& launch, const Grounds& grounds) {
  if (known_.empty()) {
    known_.resize(kSlots);
    seen_.resize(kSeen);
  }
  // What a program does again it does in the same order, mostly.
  Known* const before = known_[last_].get();
  if (before != nullptr) {
    Known* const next = known_[before->follower].get();
    if (next != nullptr && IsSame(*next, launch, grounds)) {
      last_ = before->follower;
      return next;
    }
  }
  hash_ = HashOf(launch);
  for (uint32_t i = 0; i < kTries; ++i) {
    const uint32_t slot = static_cast<uint32_t>(hash_ + i) % kSlots;
    Known* const known = known_[slot].get();
    if (known == nullptr || !IsSame(*known, launch, grounds)) continue;
    if (before != nullptr) before->follower = slot;
    last_ = slot;
    return known;
  }
  const auto tag = static_cast<uint32_t>(hash_ >> 32) | 1;
  wants_ = std::exchange(seen_[hash_ % kSeen], tag) == tag;
  return nullptr;
}

LaunchMemo::Known* LaunchMemo::Learn(const Submission& launch, const Grounds& grounds) {
  if (bytes_ > kMostOfThread.value ||
      bytes_of_all.load(std::memory_order_relaxed) > kMostOfAll.value) {
    Clear();
    if (bytes_of_all.load(std::memory_order_relaxed) > kMostOfAll.value) return nullptr;
  }
  const absl::Span<const char> block = launch.parameters.Block(&block_);
  // A parameter is missing.
  if (!launch.parameters.Equal(block)) return nullptr;
  uint32_t slot = static_cast<uint32_t>(hash_) % kSlots;
  for (uint32_t i = 0; i < kTries; ++i) {
    const uint32_t at = static_cast<uint32_t>(hash_ + i) % kSlots;
    const Known* const there = known_[at].get();
    // Else the first goes.
    if (there != nullptr && there->grounds == grounds) continue;
    slot = at;
    break;
  }
  Drop(slot);
  known_[slot] = std::make_unique<Known>();
  Known* const known = known_[slot].get();
  known->code = launch.code;
  known->of = launch.kernel;
  known->shape = launch.shape;
  known->layout = launch.parameters.layout;
  known->block.assign(block.begin(), block.end());
  known->grounds = grounds;
  if (known_[last_] != nullptr) known_[last_]->follower = slot;
  last_ = slot;
  return known;
}

void LaunchMemo::Count(Known* known) {
  const size_t bytes = sizeof(Known) + known->block.capacity() + known->again.bytes() +
                       known->ranges.capacity() * sizeof(WorkRange) +
                       known->blocks.capacity() * sizeof(uint64_t) + known->uses.bytes();
  const size_t more = bytes - std::exchange(known->bytes, bytes);
  bytes_ += more;
  bytes_of_all.fetch_add(more, std::memory_order_relaxed);
}

void LaunchMemo::Forget(const Known* known) {
  if (known_[last_].get() == known) Drop(last_);
}

void LaunchMemo::Drop(uint32_t slot) {
  if (known_[slot] == nullptr) return;
  bytes_ -= known_[slot]->bytes;
  bytes_of_all.fetch_sub(known_[slot]->bytes, std::memory_order_relaxed);
  known_[slot].reset();
}

void LaunchMemo::Clear() {
  for (uint32_t i = 0; i < known_.size(); ++i) Drop(i);
}

}  // namespace vramspan
