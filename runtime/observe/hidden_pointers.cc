#include "runtime/observe/hidden_pointers.h"

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/observe/readable.h"

namespace vramspan {
namespace {

constexpr uint64_t kPointer = sizeof(uint64_t);

// A pointer seen in a copy, by the address that it was copied to.
struct Seen {
  uint64_t at, value;
};

}  // namespace

struct HiddenPointers::State {
  State(DevicePtr a, Bytes s, size_t most) : arena(a.value), size(s.value), most_targets(most) {}

  struct Held {
    uint64_t value;
    uint64_t copy;
  };
  struct Copy {
    uint64_t number, from, to;
  };

  bool Has(uint64_t value) const { return value - arena < size; }
  std::vector<Seen> Scan(const HostCopy& copy, uint64_t* end) const;
  // Whether any was there.
  bool Erase(uint64_t from, uint64_t to) VS_REQUIRES(mu);
  // Just these are there.
  bool Holds(uint64_t from, uint64_t to, const std::vector<Seen>& seen) const VS_REQUIRES(mu);
  uint64_t First(uint64_t from) const { return from >= kPointer ? from - kPointer + 1 : 0; }
  void Bound() VS_REQUIRES(mu);
  bool AddHeld(uint64_t from, uint64_t to, Via via, size_t most,
               absl::flat_hash_set<uint64_t>* starts, std::vector<Touch>* touches) const
      VS_REQUIRES(mu);

  const uint64_t arena, size;
  const size_t most_targets;
  mutable Mutex mu;
  absl::btree_map<uint64_t, Held> held VS_GUARDED_BY(mu);  // By the address that holds it.
  uint64_t copies VS_GUARDED_BY(mu) = 0;
  std::deque<Copy> order VS_GUARDED_BY(mu);  // Oldest first; some may hold nothing any more.
};

HiddenPointers::HiddenPointers(DevicePtr arena, Bytes size, size_t most_targets)
    : state_(std::make_unique<State>(arena, size, most_targets)) {}
HiddenPointers::~HiddenPointers() = default;

// `end`: the target up to there was seen.
std::vector<Seen> HiddenPointers::State::Scan(const HostCopy& copy, uint64_t* end) const {
  std::vector<Seen> seen;
  const auto* const source = static_cast<const char*>(copy.source);
  const uint64_t target = copy.target.value;
  // Pointers are aligned where they end up.
  const uint64_t at = std::min((kPointer - target % kPointer) % kPointer, copy.size.value);
  *end = target + at;
  if (at + kPointer > copy.size.value) return seen;
  thread_local std::vector<uint64_t> buffer;  // Allocated once: most copies are small.
  const size_t wanted = copy.size.value - at;
  buffer.resize(std::max(buffer.size(), (wanted + kPointer - 1) / kPointer));
  const size_t got = ReadIfMapped(source + at, buffer.data(), wanted);
  for (size_t i = 0; i < got / kPointer; ++i) {
    if (Has(buffer[i])) seen.push_back({target + at + i * kPointer, buffer[i]});
  }
  *end = target + at + got;
  return seen;
}

Bytes HiddenPointers::Copied(const HostCopy& copy) {
  if (copy.size > kMostScanned) return Bytes(0);
  uint64_t end = 0;
  const std::vector<Seen> seen = state_->Scan(copy, &end);
  if (seen.empty() && empty()) return copy.size;
  State& state = *state_;
  MutexLock lock(state.mu);
  // Programs copy the same table again for each step.
  const bool changes = !state.Holds(copy.target.value, end, seen);
  state.Erase(copy.target.value, end);
  if (!seen.empty()) {
    const uint64_t number = ++state.copies;
    for (const Seen& s : seen) state.held.insert_or_assign(s.at, State::Held{s.value, number});
    state.order.push_back({number, seen.front().at, seen.back().at + kPointer});
    state.Bound();
  }
  count_.store(state.held.size(), std::memory_order_relaxed);
  if (changes) changes_.fetch_add(1, std::memory_order_release);
  return copy.size;
}

void HiddenPointers::Forget(DevicePtr ptr, Bytes size) {
  if (empty()) return;
  MutexLock lock(state_->mu);
  const bool any = state_->Erase(ptr.value, ptr.value + size.value);
  count_.store(state_->held.size(), std::memory_order_relaxed);
  if (any) changes_.fetch_add(1, std::memory_order_release);
}

// Those that lie in part in [from, to) go too.
bool HiddenPointers::State::Erase(uint64_t from, uint64_t to) {
  if (from >= to) return false;
  const size_t before = held.size();
  held.erase(held.lower_bound(First(from)), held.lower_bound(to));
  return held.size() != before;
}

bool HiddenPointers::State::Holds(uint64_t from, uint64_t to, const std::vector<Seen>& seen) const {
  if (from >= to) return seen.empty();
  auto it = held.lower_bound(First(from));
  for (const Seen& s : seen) {
    if (it == held.end() || it->first != s.at || it->second.value != s.value) return false;
    ++it;
  }
  return it == held.lower_bound(to);
}

void HiddenPointers::State::Bound() {
  while (held.size() > most_targets) {
    const Copy oldest = order.front();
    order.pop_front();
    for (auto it = held.lower_bound(oldest.from); it != held.end() && it->first < oldest.to;) {
      it = it->second.copy == oldest.number ? held.erase(it) : std::next(it);
    }
  }
  // Copies that were replaced by others over the same target.
  if (order.size() <= 2 * held.size() + 1024) return;
  absl::flat_hash_set<uint64_t> live;
  for (const auto& [at, pointer] : held) live.insert(pointer.copy);
  std::erase_if(order, [&](const Copy& copy) { return !live.contains(copy.number); });
}

// Adds the pointers held in [from, to), each start once. False: there is more than may be added.
bool HiddenPointers::State::AddHeld(uint64_t from, uint64_t to, Via via, size_t most,
                                    absl::flat_hash_set<uint64_t>* starts,
                                    std::vector<Touch>* touches) const {
  for (auto it = held.lower_bound(from); it != held.end() && it->first < to; ++it) {
    if (!starts->insert(it->second.value).second) continue;
    if (touches->size() == most) return false;
    touches->push_back({.ptr = DevicePtr(it->second.value), .linear = false, .via = via});
  }
  return true;
}

void HiddenPointers::Follow(Submission* submission, Extent extent, void* context) const {
  if (empty()) return;
  const State& state = *state_;
  std::vector<Touch>& touches = submission->touches;
  const size_t most = touches.size() + kMostFollowed;
  absl::flat_hash_set<uint64_t> starts;
  for (const Touch& touch : touches) starts.insert(touch.ptr.value);

  MutexLock lock(state.mu);
  bool all = true;
  size_t next = 0;
  for (int level = 0; all && level < kMostLevels; ++level) {
    const size_t end = touches.size();
    for (; all && next < end; ++next) {
      const Touch touch = touches[next];
      const uint64_t from = touch.ptr.value;
      if (state.held.lower_bound(from) == state.held.end()) continue;  // Spares asking.
      const uint64_t to =
          touch.size.value != 0 ? from + touch.size.value : extent(context, touch.ptr).value;
      const Via via = touch.via == Via::kCall ? Via::kTable : touch.via;
      all = state.AddHeld(from, to, via, most, &starts, &touches);
    }
    if (level != 0 || !all) continue;
    // At the level of what the call names: what every kernel can name.
    all = state.AddHeld(0, state.arena, Via::kGlobal, most, &starts, &touches) &&
          state.AddHeld(state.arena + state.size, ~uint64_t{0}, Via::kGlobal, most, &starts,
                        &touches);
  }
  // Whether anything is behind the last level was not looked at.
  if (!all || next < touches.size()) submission->incomplete = true;
}

}  // namespace vramspan
