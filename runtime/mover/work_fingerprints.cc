#include "runtime/mover/work_fingerprints.h"

#include <absl/algorithm/container.h>

#include <string>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// Works ahead in which the fingerprint of a chunk makes an earlier one needless.
constexpr size_t kSoon = 3;

}  // namespace

void WorkFingerprints::Load() {
  ScopedContext current(memory_.driver(), memory_.options().context);
  Status status = current.status();
  if (status.ok()) {
    StatusOr<std::unique_ptr<StreamFingerprints>> made =
        StreamFingerprints::Create(memory_.shared_driver());
    status = made.status();
    if (made.ok()) prints_ = *std::move(made);
  }
  if (!status.ok()) {
    Log(LogLevel::kInfo, "the program's streams get no fingerprints (" +
                             std::string(status.message()) + "), so more is copied");
  }
}

bool WorkFingerprints::IsWorth(const Chunk& c) const {
  // While everything fits nothing leaves.
  return memory_.supply().host_used() && HostCopies::WorthNow(c);
}

size_t WorkFingerprints::Choose(StreamWork* work, StreamFingerprints::Piece* pieces) {
  size_t count = 0;
  // Also of what is served in place: it may be on the device all the same.
  for (const ChunkUse& use : work->all) {
    if (count == kMost) break;
    const ChunkIndex index = use.chunk;
    Chunk& c = memory_.chunks()[index];
    const bool fixed = !use.how.possible || !use.how.mapped_only;
    if (!use.how.write || !fixed || c.size() < kWorthAFingerprint) continue;
    if (c.dying) continue;  // What is behind it may be gone when the stream comes there.
    if (work->released ? !IsWorth(c) : !HostCopies::MayBeWorth(c)) continue;
    const std::optional<uint32_t> slot = prints_->Take();
    if (!slot.has_value()) break;
    ++c.pending_fingerprints;
    pieces[count++] = {c.base, c.size(), *slot};
    work->fingerprints.push_back({index, *slot});
  }
  return count;
}

void WorkFingerprints::Queue(StreamWork* work) {
  if (prints_ == nullptr || work->kind != Work::Kind::kScope || work->barrier()) return;
  StreamFingerprints::Piece pieces[kMost];
  size_t count;
  {
    MutexLock lock(memory_.mu);
    count = Choose(work, pieces);
    if (work->released) Ask(*work);
    if (work->held) {
      const size_t launches =
          (count + StreamFingerprints::kPiecesOfALaunch - 1) / StreamFingerprints::kPiecesOfALaunch;
      scheduler_.work().FollowedBy(work, static_cast<uint32_t>(launches));
    }
  }
  if (count == 0) return;
  const Status status = prints_->Queue(work->stream->stream, absl::MakeConstSpan(pieces, count));
  if (status.ok()) return;
  memory_.driver().RecordBackgroundError(status);
  MutexLock lock(memory_.mu);
  // Those that were queued may still write: their slots are lost, and the rest is not worth a list.
  Drop(work);
}

bool WorkFingerprints::TakenSoon(const StreamWork& work, ChunkIndex index) const {
  return scheduler_.queue().AnyBehind(&work, kSoon, [index](const Work& next) {
    return absl::c_any_of(static_cast<const StreamWork&>(next).fingerprints,
                          [index](const StreamWork::Fingerprint& p) { return p.chunk == index; });
  });
}

void WorkFingerprints::Ask(const StreamWork& work) {
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    Chunk& c = memory_.chunks()[queued.chunk];
    --c.pending_fingerprints;
    if (!IsWorth(c) || (c.pending_fingerprints != 0 && TakenSoon(work, queued.chunk))) continue;
    ++c.fingerprints_taken;
    prints_->Ask(queued.slot);
  }
}

void WorkFingerprints::Drop(StreamWork* work) {
  // Once it is released, each has been asked for or not.
  for (const StreamWork::Fingerprint& queued : work->fingerprints) {
    if (!work->released) --memory_.chunks()[queued.chunk].pending_fingerprints;
  }
  work->fingerprints.clear();
}

void WorkFingerprints::Take(const StreamWork& work, bool dead) {
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    const std::optional<Fingerprint> found = prints_->Result(queued.slot);
    prints_->Give(queued.slot);
    if (!found.has_value() || dead) continue;
    if (scheduler_.Found(queued.chunk, work.id, *found)) {
      memory_.DropHostCopy(queued.chunk);
    }
  }
}

bool WorkFingerprints::CallOff(const StreamWork& work, absl::Span<const ChunkIndex> chunks) {
  bool any = false;
  for (const StreamWork::Fingerprint& queued : work.fingerprints) {
    if (!absl::c_linear_search(chunks, queued.chunk)) continue;
    any = prints_->CallOff(queued.slot) || any;
  }
  return any;
}

}  // namespace vramspan
