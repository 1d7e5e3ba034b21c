#include "tools/replay/mover_calls.h"

#include <algorithm>
#include <utility>

namespace vramspan::replay {

void MoverCalls::StartOut(const ChunkMove& move, uint64_t now, uint64_t making) {
  if (making == 0 && waiting_.empty()) {
    link_.Start(/*in=*/false, move.size, move.place);
    return;
  }
  host_made_ = std::max(host_made_, now) + making;
  waiting_.push_back({host_made_, move.size, move.place});
}

void MoverCalls::Advance(uint64_t now, absl::FunctionRef<void(uint32_t)> copied) {
  link_.Advance(now);
  for (; !waiting_.empty() && waiting_.front().time <= now; waiting_.pop_front()) {
    link_.Start(/*in=*/false, waiting_.front().size, waiting_.front().place);
  }
  if (!link_.any_done()) return;
  for (const uint64_t place : link_.TakeDone()) copied(static_cast<uint32_t>(place));
}

void MoverCalls::Begin(const Action& action, uint64_t now, uint64_t nanoseconds,
                       bool gives_access) {
  action_ = action;
  ends_ = now + nanoseconds + std::exchange(owed_, 0);
  if (gives_access) ends_ = std::max(ends_, link_.PieceEnd());
}

bool MoverCalls::BeginFetch(const Action& action, uint64_t now, double slot, int log2,
                            bool running) {
  Owe(prices_.per_fetch);
  double calls = slot;
  if (action.move->ahead) {
    const MapCosts& device = prices_.device[log2 - kMinChunkLog2];
    calls += device.map + device.access;
  }
  if (calls == 0) return false;
  Begin(action, now, Nanoseconds(Slower(running) * calls), /*gives_access=*/true);
  return true;
}

void MoverCalls::BeginRemap(const Action& action, uint64_t now, Remapping how, int log2,
                            bool running) {
  const MapCosts& device = prices_.device[log2 - kMinChunkLog2];
  const MapCosts& host = prices_.host[log2 - kMinChunkLog2];
  const bool in = action.move->in;
  const MapCosts& to = in ? device : host;
  const bool maps = how == Remapping::kSwap || how == Remapping::kMap;
  double calls = 0;
  if (how == Remapping::kSwap || how == Remapping::kUnmap) calls += in ? host.unmap : device.unmap;
  if (maps) calls += to.map;
  const double slower = Slower(running);
  uint64_t takes = Nanoseconds(prices_.per_move + slower * calls);
  if (maps) {
    // To give access waits for the piece that is on its way out.
    takes += Nanoseconds(slower * to.access);
    takes = std::max(takes, link_.PieceEnd() - std::min(now, link_.PieceEnd()));
  }
  Begin(action, now, takes, /*gives_access=*/false);
}

void MoverCalls::BeginMapOnHost(const Action& action, uint64_t now, int log2, bool running) {
  const MapCosts& host = prices_.host[log2 - kMinChunkLog2];
  Begin(action, now, Nanoseconds(Slower(running) * (host.map + host.access)),
        /*gives_access=*/true);
}

Action MoverCalls::TakeEnded(uint64_t now) {
  if (!calling() || ends_ > now) return {};
  return std::exchange(action_, {});
}

uint64_t MoverCalls::NextEvent() const {
  uint64_t next = link_.NextEnd();
  if (!waiting_.empty()) next = std::min(next, waiting_.front().time);
  return calling() ? std::min(next, ends_) : next;
}

}  // namespace vramspan::replay
