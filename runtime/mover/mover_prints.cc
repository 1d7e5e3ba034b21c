// Mover: whether kernels have written what they may write. Whatever leaves the device unwritten
// need not be copied.
#include "runtime/mover/mover.h"
#include "runtime/mover/mover_move.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr size_t kMostPrints = 32;  // Of one piece of work.
constexpr uint8_t kNoPrints = 3;    // Fetches, after one was found written.
// Of a stay, where none tells anything. What was spared before is worth more: a program that is
// laps ahead of the device has asked for all of these before the first has run.
constexpr uint8_t kTries = 2;
constexpr uint8_t kTriesOfSpared = 6;

}  // namespace

void Mover::QueuePrints(Work* work) {
  if (prints_ == nullptr || work->kernel == 0 || work->quiet()) return;
  if (synchronous_.load(std::memory_order_relaxed)) return;
  StreamPrints::Piece pieces[kMostPrints];
  size_t count = 0;
  {
    MutexLock lock(memory_.mu);
    for (size_t i = 0; i < work->wanted && count < kMostPrints; ++i) {
      const ChunkIndex index = work->chunks[i];
      Chunk& c = memory_.chunks()[index];
      if (!c.doubted || c.written != 0 || !work->uses[i].write || c.size() < kWorthAPrint) continue;
      // Only that of the last to write it before it leaves tells what it leaves with, and that may
      // be the second array in a chunk. What stays is written again and again, each time
      // before the last is seen to have ended, so that none tells anything: to go on would have
      // each kernel on activations followed by one that takes as long.
      if (c.printed >= (c.spared ? kTriesOfSpared : kTries)) continue;
      const std::optional<uint32_t> slot = prints_->Take();
      if (!slot.has_value()) break;
      ++c.printed;
      pieces[count++] = {c.base, c.size(), *slot};
      work->prints.push_back({index, *slot});
    }
    if (work->held) {
      work->held_prints =
          (count + StreamPrints::kPiecesOfALaunch - 1) / StreamPrints::kPiecesOfALaunch;
      held_prints_ += work->held_prints;
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
  DoubtTwin(index);
  const Chunk& c = memory_.chunks()[index];
  if (!c.on_device) {
    memory_.host_prints.erase(index.value);
  } else if (c.doubted) {
    Memory::Writer& last = memory_.writers[index.value];
    const bool behind = last.work != 0 && last.stream == work.stream && last.thread == work.thread;
    // Work that may write anywhere names no chunk, and may write behind this one's fingerprint.
    const bool told = (c.in_flight == 1 || behind) && quiet_in_flight_ == 0;
    last = {told ? work.id : 0, work.thread, work.stream, {}};
  }
}

void Mover::DoubtTwin(ChunkIndex index) {
  Chunk& c = memory_.chunks()[index];
  if (c.state != ChunkState::kDeviceTwin) return;
  c.doubted = true;
  // Whether it was written can still be told, behind the work or when it leaves.
  if (memory_.prints.contains(index.value)) {
    c.Transition(ChunkState::kDeviceStale);
  } else {
    memory_.DropHostCopy(index);
  }
}

void Mover::DoubtTwins(bool but_read_mostly) {
  memory_.host_prints.clear();
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
    c.spared = memory_.prints.at(print.chunk.value) == found;
    if (c.spared) {
      c.Transition(ChunkState::kDeviceTwin);
      c.printed = 0;
      any_twins_ = true;
    } else {
      c.written = kNoPrints;
      memory_.DropHostCopy(print.chunk);
    }
  }
}

std::optional<Fingerprint> Mover::NoteCame(const Move& move) {
  Chunk& c = memory_.chunks()[move.chunk];
  c.printed = 0;
  if (c.written != 0) --c.written;
  std::optional<Fingerprint> content = move.copy.print;
  if (const auto known = memory_.host_prints.find(move.chunk.value);
      known != memory_.host_prints.end()) {
    if (!content.has_value()) content = known->second;
    memory_.host_prints.erase(known);
  }
  return content;
}

void Mover::NoteLeft(const Move& move) {
  // What the twin held, or what its last writer left.
  std::optional<Fingerprint> content = move.content;
  if (const auto twin = memory_.prints.find(move.chunk.value); twin != memory_.prints.end()) {
    if (move.clean || move.copy.equal) content = twin->second;
    memory_.prints.erase(twin);
  }
  if (content.has_value()) memory_.host_prints[move.chunk.value] = *content;
  memory_.writers.erase(move.chunk.value);
}

}  // namespace vramspan
