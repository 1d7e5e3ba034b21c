// Lies that no event leads to (faults.h).
#include <algorithm>
#include <utility>

#include "tests/scheduler/simulation/mover.h"

namespace vramspan::simulation {
namespace {

// A chunk of which `is` holds; 0: none.
template <typename Is>
ChunkIndex Some(ModelMemory* memory, Is is) {
  for (uint32_t i = 1; i < memory->end(); ++i) {
    const ChunkIndex c(i);
    if ((*memory)[c].live && !(*memory)[c].changing && is((*memory)[c], memory->chunk(c))) return c;
  }
  return ChunkIndex();
}

}  // namespace

void Mover::Lie() {
  const auto used = [](const ModelChunk& m, const Chunk&) {
    return m.in_flight != 0 && m.mapped == Mapped::kDevice;
  };
  switch (common_.options.sabotage) {
    case Sabotage::kRemapUnasked:
      if (const ChunkIndex c = Some(&memory_, used); c && common_.Lies(Sabotage::kRemapUnasked)) {
        memory_[c].mapped = Mapped::kHost;
      }
      return;
    case Sabotage::kUnmapUnasked:
      if (const ChunkIndex c = Some(&memory_, used); c && common_.Lies(Sabotage::kUnmapUnasked)) {
        memory_[c].mapped = Mapped::kNothing;
      }
      return;
    case Sabotage::kDropCurrentCopy: {
      const ChunkIndex c = Some(&memory_, [](const ModelChunk& m, const Chunk& real) {
        return real.state == ChunkState::kHost && m.last > 1;
      });
      if (c && common_.Lies(Sabotage::kDropCurrentCopy)) memory_.GiveHost(c);
      return;
    }
    case Sabotage::kReleaseOutOfOrder:
    case Sabotage::kReleaseEarly: {
      const WorkQueue& queue = common_.scheduler->queue();
      if (queue.size() < 2) return;
      const bool last = common_.options.sabotage == Sabotage::kReleaseOutOfOrder;
      if (!common_.Lies(common_.options.sabotage)) return;
      auto* const work = static_cast<SimWork*>(last ? queue[queue.size() - 1] : queue.front());
      LetGo(work, /*was_held=*/true);
      return;
    }
    case Sabotage::kCountTwice:
      if (const ChunkIndex c = Some(&memory_, used); c && common_.Lies(Sabotage::kCountTwice)) {
        ++memory_.chunk(c).queued;
      }
      return;
    case Sabotage::kIllegalState: {
      const ChunkIndex c = Some(&memory_, [](const ModelChunk&, const Chunk& real) {
        return real.state == ChunkState::kHost;
      });
      if (c && common_.Lies(Sabotage::kIllegalState)) {
        memory_.chunk(c).state = ChunkState::kPinned;
      }
      return;
    }
    case Sabotage::kGiveUpUnasked: {
      const ChunkIndex c = Some(&memory_, [](const ModelChunk& m, const Chunk& real) {
        return !m.undefined() && m.last > 1 && real.state == ChunkState::kDevice && !real.dying;
      });
      if (c && common_.Lies(Sabotage::kGiveUpUnasked))
        common_.scheduler->work().GivenUp(c, /*unowned=*/false);
      return;
    }
    case Sabotage::kStaysEmpty: {
      const ChunkIndex c = Some(&memory_, [](const ModelChunk& m, const Chunk& real) {
        return m.given_up != 0 && m.filled > m.given_up && real.state == ChunkState::kDevice;
      });
      if (c && common_.Lies(Sabotage::kStaysEmpty)) {
        memory_.chunk(c).contents = Contents::kNone;
        memory_.table().NoteChange(c);
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace vramspan::simulation
