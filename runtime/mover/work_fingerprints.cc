#include "runtime/mover/work_fingerprints.h"

#include <absl/algorithm/container.h>

#include <string>

#include "runtime/base/log.h"

namespace vramspan {

static_assert(StreamFingerprints::kPiecesOfALaunch == WorkPrints::kOfALaunch);

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

size_t WorkFingerprints::Choose(StreamWork* work, StreamFingerprints::Piece* pieces) {
  which_.Choose(work, memory_.supply().host_used(), [this] { return prints_->Take(); });
  size_t count = 0;
  for (const WorkPrint& print : work->prints.places) {
    const Chunk& c = memory_.chunks()[print.chunk];
    pieces[count++] = {c.base, c.size(), print.slot};
  }
  return count;
}

void WorkFingerprints::Queue(StreamWork* work) {
  if (prints_ == nullptr || !WorkPrints::May(*work)) return;
  StreamFingerprints::Piece pieces[WorkPrints::kMost];
  size_t count;
  {
    MutexLock lock(memory_.mu);
    count = Choose(work, pieces);
    if (work->released) Ask(*work);
    if (work->held) scheduler_.work().FollowedBy(work, WorkPrints::Launches(count));
  }
  if (count == 0) return;
  const Status status = prints_->Queue(work->stream->stream, absl::MakeConstSpan(pieces, count));
  if (status.ok()) return;
  memory_.driver().RecordBackgroundError(status);
  MutexLock lock(memory_.mu);
  // Those that were queued may still write: their slots are lost, and the rest is not worth a list.
  which_.Drop(work);
}

void WorkFingerprints::Ask(const StreamWork& work) {
  which_.Ask(work, memory_.supply().host_used(),
             [this](const WorkPrint& print) { prints_->Ask(print.slot); });
}

void WorkFingerprints::Take(const StreamWork& work, bool dead) {
  for (const WorkPrint& queued : work.prints.places) {
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
  for (const WorkPrint& queued : work.prints.places) {
    if (!absl::c_linear_search(chunks, queued.chunk)) continue;
    any = prints_->CallOff(queued.slot) || any;
  }
  return any;
}

}  // namespace vramspan
