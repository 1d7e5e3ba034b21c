#include "tools/broker/core/ladder.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {
namespace {

constexpr int kAsItIs = 1, kClean = 2, kIdle = 3, kVictim = 4;

bool MayBeAsked(const State& state, const Process& process, Place place) {
  const Lease& lease = process.leases[place];
  return Responds(process) && !lease.recall && lease.retry_at <= state.now;
}

bool Idle(const Process& process) {
  const Said& said = process.said;
  const Bytes untouched = Plus(Plus(said.cached, said.clean), said.cold);
  return said.wanted[Place::kDevice] == Bytes() && Used(process, Place::kDevice) <= untouched;
}

// What the process has of host memory to evict to, if it uses so much of it.
Bytes RoomOnHost(const Process& process, Bytes used) {
  const Lease& host = process.leases[Place::kHost];
  return Minus(host.grant, Plus(used, host.recall ? host.recall->bytes : Bytes()));
}

// How much of `copied` the host has room for, where the process was granted `more` there. Who has
// more than its share of the host makes the room itself: what it says to use there is no excuse
// beyond that.
Bytes FitsOnHost(const State& state, const Process& process, Bytes copied, Bytes more) {
  const Bytes used = Used(process, Place::kHost);
  const Bytes believed = std::min(used, PlainShare(state, process, Place::kHost));
  return std::min(copied,
                  std::max(Plus(RoomOnHost(process, used), more), RoomOnHost(process, believed)));
}

// How much of `wish` the process can evict now: the link and the host have to have room for it.
Bytes ToCopy(const State& state, Process& process, Bytes wish, Bytes free_host,
             Candidate& candidate) {
  const ProcessId evicts = Evicts(state);
  if (evicts && evicts != process.id) return Bytes();
  const Bytes copied = std::min(wish, state.settings.slice);
  const Bytes there = RoomOnHost(process, Used(process, Place::kHost));
  const Bytes free = std::min(free_host, BelowLimits(state, process, Place::kHost));
  candidate.host_room = std::min(Minus(copied, there), free);
  // For the slices behind it as well. Nobody is given what lacks less than a chunk.
  if (there < copied) process.host_wish = Plus(wish, state.settings.chunk);
  return FitsOnHost(state, process, copied, candidate.host_room);
}

// Whether a is asked before b.
bool Before(const State& state, const Candidate& a, const Candidate& b) {
  if (a.small != b.small) return b.small;
  if (a.rung != b.rung) return a.rung < b.rung;
  const Process& x = state.processes.at(a.process);
  const Process& y = state.processes.at(b.process);
  const Class of_x = state.tenants.at(x.tenant).policy.klass;
  const Class of_y = state.tenants.at(y.tenant).policy.klass;
  if (of_x != of_y) return of_x < of_y;
  const auto use = [](const Process& process) {
    return Minus(Used(process, Place::kDevice), process.said.cached).value;
  };
  return Wide{use(x)} * y.fraction > Wide{use(y)} * x.fraction;
}

}  // namespace

Bytes Surplus(const Process& process, Place place) {
  return Minus(process.leases[place].grant, process.leases[place].target);
}

std::optional<Candidate> ToGiveBack(const State& state, Process& process, Place place, Bytes most,
                                    Bytes need, Bytes free_host) {
  const Lease& lease = process.leases[place];
  const Bytes wanted = std::min(most, need);
  if (wanted == Bytes()) return std::nullopt;
  if (!MayBeAsked(state, process, place)) return std::nullopt;
  // Less than this is not worth a message of its own. This much is asked for at once if it has it,
  // though a part of it be on a later rung: who always has a little at hand is asked no less.
  const Bytes least = std::min(wanted, state.settings.chunk);
  const Bytes at_once = std::min(wanted, state.settings.slice);
  Candidate candidate{.process = process.id, .small = most < state.settings.chunk, .rung = kAsItIs};
  Bytes at_hand = Minus(lease.grant, Used(process, place));
  if (place == Place::kDevice) {
    at_hand = Plus(at_hand, process.said.cached);
    if (at_hand < at_once) {
      candidate.rung = kClean;
      at_hand = Plus(at_hand, process.said.clean);
    }
    if (at_hand < at_once) {
      candidate.rung = Idle(process) ? kIdle : kVictim;
      candidate.copied = ToCopy(state, process, at_once - at_hand, free_host, candidate);
    }
  }
  candidate.bytes = std::min(wanted, Plus(at_hand, candidate.copied));
  if (candidate.bytes < least) return std::nullopt;
  return candidate;
}

bool MayYetGive(const State& state, const Process& process, Bytes free_host) {
  const Bytes surplus = Surplus(process, Place::kDevice);
  if (!Responds(process) || surplus == Bytes()) return false;
  const Lease& device = process.leases[Place::kDevice];
  if (device.recall) return surplus > device.recall->bytes;
  // It may be unwilling for half a minute, and is not fenced for that.
  if (device.retry_at > state.now && EndsItsWork(state, process)) return false;
  const Lease& host = process.leases[Place::kHost];
  if (Minus(host.target, host.grant) >= state.settings.chunk) return true;
  const Bytes at_hand = Plus(Minus(device.grant, Used(process, Place::kDevice)),
                             Plus(process.said.cached, process.said.clean));
  const Bytes free = std::min(free_host, BelowLimits(state, process, Place::kHost));
  const Bytes copied = FitsOnHost(state, process, state.settings.slice, free);
  return Plus(at_hand, copied) >= std::min(surplus, state.settings.chunk);
}

void PutInOrder(const State& state, std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return Before(state, a, b); });
}

std::vector<ProcessId> ToBeAsked(State& state, Place place, Bytes need) {
  const Bytes free_host = ToGive(state, Place::kHost);
  std::vector<Candidate> candidates;
  for (auto& [id, process] : state.processes) {
    const auto candidate =
        ToGiveBack(state, process, place, Surplus(process, place), need, free_host);
    if (candidate) candidates.push_back(*candidate);
  }
  PutInOrder(state, candidates);
  std::vector<ProcessId> ids;
  ids.reserve(candidates.size());
  for (const Candidate& candidate : candidates) ids.push_back(candidate.process);
  return ids;
}

}  // namespace vramspan::broker
