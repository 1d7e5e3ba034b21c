// Mover: whether kernels have written what they may write. Whatever leaves the device unwritten
// need not be copied.
#include <absl/algorithm/container.h>

#include "runtime/mover/mover.h"
#include "runtime/mover/mover_move.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr size_t kMostFingerprints = 32;  // Of one piece of work.
constexpr uint8_t kSkipAfterWrite = 3;    // Fetches, after one was found written.
// Of a stay, where none tells anything: only that of the last to write a chunk before it leaves
// does, and that may be the second array in it. What stays is written again and again, each time
// before the last is seen to have ended; to go on would have each kernel on activations followed by
// one that takes as long. What was spared before is worth more.
constexpr uint8_t kTries = 2;
constexpr uint8_t kTriesOfUnchanged = 6;
// Of a chunk, behind held work: a lap over the weights has one, one over activations hundreds.
constexpr uint8_t kMostUndecided = 24;
// Works ahead in which the fingerprint of a chunk makes an earlier one needless.
constexpr size_t kSoon = 3;

bool Tried(const Chunk& c) {
  return c.fingerprints_taken >= (c.last_unchanged ? kTriesOfUnchanged : kTries);
}

// When held work is let go, which may be some laps from now.
bool MayBeWorthAFingerprint(const Chunk& c) {
  return c.skip_fingerprint_for <= 1 && c.pending_fingerprints != kMostUndecided;
}

}  // namespace

bool Mover::WorthAFingerprintNow(const Chunk& c) {
  // While everything fits nothing leaves.
  return c.on_device && !c.dying && c.state != ChunkState::kPinned && c.skip_fingerprint_for == 0 &&
         !Tried(c) && memory_.host_used();
}

void Mover::QueueFingerprints(StreamWork* work) {
  if (fingerprints_ == nullptr || work->kind != Work::Kind::kScope || work->barrier() ||
      synchronous_.load(std::memory_order_relaxed)) {
    return;
  }
  StreamFingerprints::Piece pieces[kMostFingerprints];
  size_t count = 0;
  {
    MutexLock lock(memory_.mu);
    // Also of what is served in place: it may be on the device all the same.
    for (const ChunkUse& use : work->all) {
      if (count == kMostFingerprints) break;
      const ChunkIndex index = use.chunk;
      Chunk& c = memory_.chunks()[index];
      const bool fixed = !use.how.possible || !use.how.mapped_only;
      if (!use.how.write || !fixed || c.size() < kWorthAFingerprint) continue;
      if (c.dying) continue;  // What is behind it may be gone when the stream comes there.
      if (work->released ? !WorthAFingerprintNow(c) : !MayBeWorthAFingerprint(c)) continue;
      const std::optional<uint32_t> slot = fingerprints_->Take();
      if (!slot.has_value()) break;
      ++c.pending_fingerprints;
      pieces[count++] = {c.base, c.size(), *slot};
      work->fingerprints.push_back({index, *slot});
    }
    if (work->released) AskFingerprints(*work);
    if (work->held) {
      work->held_fingerprints =
          (count + StreamFingerprints::kPiecesOfALaunch - 1) / StreamFingerprints::kPiecesOfALaunch;
      held_fingerprints_ += work->held_fingerprints;
    }
  }
  if (count == 0) return;
  const Status status =
      fingerprints_->Queue(work->stream->stream, absl::MakeConstSpan(pieces, count));
  if (status.ok()) return;
  driver_->RecordBackgroundError(status);
  MutexLock lock(memory_.mu);
  // Those that were queued may still write: their slots are lost, and the rest is not worth a list.
  DropFingerprints(work);
}

bool Mover::FingerprintedSoon(const StreamWork& work, ChunkIndex index) {
  return queue_.AnyBehind(&work, kSoon, [index](const Work& next) {
    return absl::c_any_of(Own(&next)->fingerprints,
                          [index](const StreamWork::Fingerprint& p) { return p.chunk == index; });
  });
}

void Mover::AskFingerprints(const StreamWork& work) {
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    Chunk& c = memory_.chunks()[queued.chunk];
    --c.pending_fingerprints;
    if (!WorthAFingerprintNow(c) ||
        (c.pending_fingerprints != 0 && FingerprintedSoon(work, queued.chunk)))
      continue;
    ++c.fingerprints_taken;
    fingerprints_->Ask(queued.slot);
  }
}

void Mover::DropFingerprints(StreamWork* work) {
  // Once it is released, each has been asked for or not.
  for (const StreamWork::Fingerprint& queued : work->fingerprints) {
    if (!work->released) --memory_.chunks()[queued.chunk].pending_fingerprints;
  }
  work->fingerprints.clear();
}

void Mover::NoteWriter(const StreamWork& work, ChunkIndex index) {
  DoubtTwin(index);
  const Chunk& c = memory_.chunks()[index];
  if (!c.on_device) {
    memory_.fingerprints_of_host_chunks.erase(index.value);
  } else if (fingerprints_ != nullptr && c.size() >= kWorthAFingerprint && memory_.host_used()) {
    Memory::Writer& last = memory_.writers[index.value];
    const bool behind = last.work != 0 && last.stream == work.stream && last.thread == work.thread;
    // Work that may write anywhere names no chunk, and may write behind this one's fingerprint.
    const bool told = (c.in_flight == 1 || behind) && counts_.barriers() == 0;
    last = {told ? work.id : 0, work.thread, work.stream, {}, last.left ? last.left : last.before};
  }
}

void Mover::DoubtTwin(ChunkIndex index) {
  Chunk& c = memory_.chunks()[index];
  if (c.state != ChunkState::kDeviceTwin) return;
  // Whether it was written can still be told, behind the work or when it leaves.
  if (memory_.fingerprints_of_copies.contains(index.value)) {
    c.Transition(ChunkState::kDeviceStale);
  } else {
    memory_.DropHostCopy(index);
  }
}

void Mover::DoubtTwins(bool but_read_mostly) {
  memory_.fingerprints_of_host_chunks.clear();
  memory_.writers.clear();
  bool kept = false;
  for (uint32_t i = 1; any_twins_ && i < memory_.chunks().end(); ++i) {
    const Chunk& c = memory_.chunks()[ChunkIndex(i)];
    if (c.state != ChunkState::kDeviceTwin) continue;
    if (but_read_mostly && c.read_mostly) {
      kept = true;
    } else {
      DoubtTwin(ChunkIndex(i));
    }
  }
  any_twins_ = kept;
}

void Mover::TakeFingerprints(const StreamWork& work) {
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    const std::optional<Fingerprint> found = fingerprints_->Result(queued.slot);
    fingerprints_->Give(queued.slot);
    const auto writer = memory_.writers.find(queued.chunk.value);
    // Another may have written it since, or while this ran.
    if (!found.has_value() || dead_ || writer == memory_.writers.end() ||
        writer->second.work != work.id) {
      continue;
    }
    writer->second.left = found;
    Chunk& c = memory_.chunks()[queued.chunk];
    const bool stale = c.state == ChunkState::kDeviceStale;
    const std::optional<Fingerprint> before =
        stale ? memory_.fingerprints_of_copies.at(queued.chunk.value) : writer->second.before;
    if (!before.has_value()) continue;
    c.last_unchanged = *before == *found;
    if (c.last_unchanged) {
      c.fingerprints_taken = 0;
      if (stale) c.Transition(ChunkState::kDeviceTwin);
      any_twins_ = any_twins_ || stale;
    } else {
      c.skip_fingerprint_for = kSkipAfterWrite;
      if (stale) memory_.DropHostCopy(queued.chunk);
    }
  }
}

std::optional<Fingerprint> Mover::NoteCame(const Move& move) {
  Chunk& c = memory_.chunks()[move.chunk];
  c.fingerprints_taken = 0;
  if (c.skip_fingerprint_for != 0) --c.skip_fingerprint_for;
  std::optional<Fingerprint> content = move.copy.print;
  if (const auto known = memory_.fingerprints_of_host_chunks.find(move.chunk.value);
      known != memory_.fingerprints_of_host_chunks.end()) {
    if (!content.has_value()) content = known->second;
    memory_.fingerprints_of_host_chunks.erase(known);
  }
  return content;
}

void Mover::NoteLeft(const Move& move) {
  // What the twin held, or what its last writer left.
  std::optional<Fingerprint> content = move.content;
  if (const auto twin = memory_.fingerprints_of_copies.find(move.chunk.value);
      twin != memory_.fingerprints_of_copies.end()) {
    if (move.clean || move.copy.equal) content = twin->second;
    memory_.fingerprints_of_copies.erase(twin);
  }
  if (content.has_value()) memory_.fingerprints_of_host_chunks[move.chunk.value] = *content;
  memory_.writers.erase(move.chunk.value);
}

}  // namespace vramspan
