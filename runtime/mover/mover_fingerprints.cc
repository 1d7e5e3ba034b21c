// Mover: whether kernels have written what they may write. Whatever leaves the device unwritten
// need not be copied.
#include <absl/algorithm/container.h>

#include "runtime/mover/mover.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr size_t kMostFingerprints = 32;  // Of one piece of work.
// Works ahead in which the fingerprint of a chunk makes an earlier one needless.
constexpr size_t kSoon = 3;

}  // namespace

bool Mover::WorthAFingerprintNow(const Chunk& c) {
  // While everything fits nothing leaves.
  return memory_.host_used() && HostCopies::WorthNow(c);
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
      if (work->released ? !WorthAFingerprintNow(c) : !HostCopies::MayBeWorth(c)) continue;
      const std::optional<uint32_t> slot = fingerprints_->Take();
      if (!slot.has_value()) break;
      ++c.pending_fingerprints;
      pieces[count++] = {c.base, c.size(), *slot};
      work->fingerprints.push_back({index, *slot});
    }
    if (work->released) AskFingerprints(*work);
    if (work->held) {
      const size_t launches =
          (count + StreamFingerprints::kPiecesOfALaunch - 1) / StreamFingerprints::kPiecesOfALaunch;
      scheduler_.work().FollowedBy(work, static_cast<uint32_t>(launches));
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
  return scheduler_.queue().AnyBehind(&work, kSoon, [index](const Work& next) {
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

void Mover::TakeFingerprints(const StreamWork& work) {
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    const std::optional<Fingerprint> found = fingerprints_->Result(queued.slot);
    fingerprints_->Give(queued.slot);
    if (!found.has_value() || dead_) continue;
    if (scheduler_.host_copies().Found(queued.chunk, work.id, *found))
      memory_.DropHostCopy(queued.chunk);
  }
}

}  // namespace vramspan
