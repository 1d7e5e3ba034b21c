#include "runtime/scheduler/host_copies.h"

#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr uint8_t kSkipAfterWrite = 3;  // Fetches, after one was found written.
// Of a stay, where none tells anything: only that of the last to write a chunk before it leaves
// does, and that may be the second array in it. What stays is written again and again, each time
// before the last is seen to have ended; to go on would have each kernel on activations followed by
// one that takes as long. What was spared before is worth more.
constexpr uint8_t kTries = 2;
constexpr uint8_t kTriesOfUnchanged = 6;
// Of a chunk, behind held work: a lap over the weights has one, one over activations hundreds.
constexpr uint8_t kMostUndecided = 24;

template <typename Map>
auto* Find(Map& map, ChunkIndex chunk) {
  const auto it = map.find(chunk);
  return it == map.end() ? nullptr : &it->second;
}
std::optional<Fingerprint> Copy(const Fingerprint* value) {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace

void HostCopies::ForgetRemoved() {
  residency_.ForEachRemoved([this](ChunkIndex chunk) {
    copies_.erase(chunk);
    hosts_.erase(chunk);
    writers_.erase(chunk);
  });
}

bool HostCopies::WorthAPrint(ChunkIndex chunk) {
  ForgetRemoved();
  return residency_[chunk].size() >= kWorthAFingerprint && Find(hosts_, chunk) == nullptr;
}

bool HostCopies::Came(ChunkIndex chunk, const Coming& coming) {
  ForgetRemoved();
  Chunk& c = residency_[chunk];
  c.fingerprints_taken = 0;
  if (c.skip_fingerprint_for != 0) --c.skip_fingerprint_for;
  const std::optional<Fingerprint> content =
      coming.print.has_value() ? coming.print : Copy(Find(hosts_, chunk));
  hosts_.erase(chunk);
  copies_.erase(chunk);
  const bool twin = !coming.clean && (!coming.barrier_held || content.has_value()) &&
                    (c.read_mostly || coming.host_has_room);
  if (twin && content.has_value()) copies_[chunk] = *content;
  c.Transition(twin ? ChunkState::kDeviceTwin : ChunkState::kDevice);
  any_twins_ |= twin;
  return twin;
}

HostCopies::Leaving HostCopies::Leaves(ChunkIndex chunk, bool print) {
  ForgetRemoved();
  const Chunk& c = residency_[chunk];
  Leaving leaving;
  leaving.clean = c.state == ChunkState::kDeviceTwin || c.state == ChunkState::kFresh;
  if (print && c.state == ChunkState::kDeviceStale && c.size() >= kWorthAFingerprint) {
    leaving.expected = Copy(Find(copies_, chunk));
  }
  if (const LastWriter* last = Find(writers_, chunk); last != nullptr) leaving.content = last->left;
  return leaving;
}

void HostCopies::Left(ChunkIndex chunk, bool same, const std::optional<Fingerprint>& content) {
  ForgetRemoved();
  residency_[chunk].Transition(ChunkState::kHost);
  // What the host copy held, or what its last writer left.
  const Fingerprint* const copy = Find(copies_, chunk);
  if (same && copy != nullptr) {
    hosts_[chunk] = *copy;
  } else if (content.has_value()) {
    hosts_[chunk] = *content;
  }
  copies_.erase(chunk);
  writers_.erase(chunk);
}

bool HostCopies::Doubt(ChunkIndex chunk) {
  Chunk& c = residency_[chunk];
  if (c.state != ChunkState::kDeviceTwin) return false;
  // Whether it was written can still be told, behind the work or when it leaves.
  if (Find(copies_, chunk) == nullptr) return true;
  c.Transition(ChunkState::kDeviceStale);
  return false;
}

bool HostCopies::MayBeWritten(ChunkIndex chunk, const Write& write) {
  ForgetRemoved();
  const bool drop = Doubt(chunk);
  const Chunk& c = residency_[chunk];
  if (!c.on_device) {
    hosts_.erase(chunk);
  } else if (write.follow && c.size() >= kWorthAFingerprint) {
    LastWriter& last = writers_[chunk];
    const bool behind =
        last.work != 0 && last.stream == write.by.stream && last.thread == write.by.thread;
    const std::optional<Fingerprint> before = last.left ? last.left : last.before;
    last = {write.by, {}, before};
    // Work that may write anything names no chunk, and may write behind this one's fingerprint.
    if ((!write.alone && !behind) || write.barrier) last.work = 0;
  }
  return drop;
}

void HostCopies::AnyMayBeWritten(bool but_read_mostly, absl::FunctionRef<void(ChunkIndex)> drop) {
  ForgetRemoved();
  hosts_.clear();
  writers_.clear();
  bool kept = false;
  for (uint32_t i = 1; any_twins_ && i < residency_.end(); ++i) {
    const ChunkIndex chunk(i);
    const Chunk& c = residency_[chunk];
    if (c.state != ChunkState::kDeviceTwin) continue;
    if (but_read_mostly && c.read_mostly) {
      kept = true;
    } else if (Doubt(chunk)) {
      drop(chunk);
    }
  }
  any_twins_ = kept;
}

bool HostCopies::WorthNow(const Chunk& c) {
  const bool tried = c.fingerprints_taken >= (c.last_unchanged ? kTriesOfUnchanged : kTries);
  return c.on_device && !c.dying && c.state != ChunkState::kPinned && c.skip_fingerprint_for == 0 &&
         !tried;
}

bool HostCopies::MayBeWorth(const Chunk& c) {
  return c.skip_fingerprint_for <= 1 && c.pending_fingerprints != kMostUndecided;
}

bool HostCopies::Found(ChunkIndex chunk, uint64_t work, const Fingerprint& print) {
  ForgetRemoved();
  LastWriter* const writer = Find(writers_, chunk);
  // Another may have written it since, or while this ran.
  if (writer == nullptr || writer->work != work) return false;
  writer->left = print;
  Chunk& c = residency_[chunk];
  const bool stale = c.state == ChunkState::kDeviceStale;
  const std::optional<Fingerprint> before = stale ? Copy(Find(copies_, chunk)) : writer->before;
  if (!before.has_value()) return false;
  c.last_unchanged = *before == print;
  if (!c.last_unchanged) {
    c.skip_fingerprint_for = kSkipAfterWrite;
    return stale;
  }
  c.fingerprints_taken = 0;
  if (stale) c.Transition(ChunkState::kDeviceTwin);
  any_twins_ |= stale;
  return false;
}

}  // namespace vramspan
