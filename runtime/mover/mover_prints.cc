// Mover: whether kernels have written what they may write. Whatever leaves the device unwritten
// need not be copied.
#include "runtime/mover/mover.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr size_t kMostPrints = 32;  // Of one piece of work.
constexpr uint8_t kNoPrints = 3;    // Fetches, after one was found written.

}  // namespace

void Mover::QueuePrints(Work* work) {
  if (prints_ == nullptr || work->kernel == 0 || work->quiet()) return;
  StreamPrints::Piece pieces[kMostPrints];
  size_t count = 0;
  {
    MutexLock lock(memory_.mu);
    for (size_t i = 0; i < work->wanted && count < kMostPrints; ++i) {
      const ChunkIndex index = work->chunks[i];
      Chunk& c = memory_.chunks()[index];
      if (!c.doubted || c.written != 0 || !work->uses[i].write || c.size() < kWorthAPrint) continue;
      // Where there is nothing to compare with, it pays only if this is the last to write it before
      // it leaves: once each time that it comes. What stays is written again and again.
      const bool compares =
          memory_.prints.contains(index.value) || memory_.host_prints.contains(index.value);
      if (!compares && c.printed) continue;
      c.printed = c.printed || !compares;
      const std::optional<uint32_t> slot = prints_->Take();
      if (!slot.has_value()) break;
      pieces[count++] = {c.base, c.size(), *slot};
      work->prints.push_back({index, *slot});
    }
  }
  if (count == 0) return;
  const Status status = prints_->Queue(work->stream->stream, absl::MakeConstSpan(pieces, count));
  if (status.ok()) return;
  driver_->Note(status);
  MutexLock lock(memory_.mu);
  // Those that were queued may still write: their slots are lost, and the rest is not worth a list.
  work->prints.clear();
}

void Mover::NoteWriter(const Work& work, ChunkIndex index) {
  const Chunk& c = memory_.chunks()[index];
  if (!c.on_device) {
    memory_.host_prints.erase(index.value);
  } else if (c.doubted) {
    memory_.writers[index.value] = {.work = c.in_flight == 1 ? work.id : 0, .left = {}};
  }
}

void Mover::NoteUnknownWriter() {
  memory_.host_prints.clear();
  memory_.writers.clear();
}

void Mover::TakePrints(const Work& work) {
  for (const Work::Print& print : work.prints) {
    const Fingerprint found = prints_->Result(print.slot);
    prints_->Give(print.slot);
    const auto writer = memory_.writers.find(print.chunk.value);
    // Another may have written it since, or while this ran.
    if (dead_ || writer == memory_.writers.end() || writer->second.work != work.id) continue;
    writer->second.left = found;
    Chunk& c = memory_.chunks()[print.chunk];
    if (c.state != ChunkState::kDeviceStale) continue;
    if (memory_.prints.at(print.chunk.value) == found) {
      c.Transition(ChunkState::kDeviceTwin);
      any_twins_ = true;
    } else {
      c.written = kNoPrints;
      memory_.DropHostCopy(print.chunk);
    }
  }
}

}  // namespace vramspan
