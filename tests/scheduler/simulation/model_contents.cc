// What chunks hold, as the program may see it: what it wrote last, or nothing at all, since it gave
// that up (runtime/scheduler/empty_chunks.h).
#include <algorithm>

#include "tests/scheduler/simulation/model_memory.h"

namespace vramspan::simulation {

void ModelMemory::GiveUp(ChunkIndex c) {
  given_up_.push_back({c, (*this)[c].life, ++common_.submissions});
}

// What was submitted before a chunk was given up may want it, until it has been let go: from then
// on nothing moves that it uses.
void ModelMemory::Settle() {
  while (!given_up_.empty()) {
    const GivenUp next = given_up_.front();
    const WorkQueue& queue = common_.scheduler->queue();
    if (!queue.empty() && static_cast<SimWork*>(queue.front())->submission < next.submission) break;
    ModelChunk& m = (*this)[next.chunk];
    if (m.life == next.life) {
      m.given_up = next.submission;
      if (m.undefined_since == 0 && m.filled < next.submission) {
        m.undefined_since = next.submission;
      }
    }
    given_up_.pop_front();
  }
}

void ModelMemory::Write(ChunkIndex c, uint64_t submission) {
  Settle();
  ModelChunk& m = (*this)[c];
  // What was given up may be computed again, and a fingerprint of it is what it was.
  if (!m.undefined() || !common_.random.Chance(300)) ++m.last;
  (m.mapped == Mapped::kDevice ? m.device : m.host) = m.last;
  m.filled = std::max(m.filled, submission);
  // What was submitted before it was given up fills nothing, however late it runs.
  if (submission > m.given_up) m.undefined_since = 0;
}

void ModelMemory::WriteAnywhere(uint64_t submission) {
  for (int i = 0; i < 3; ++i) {
    const ChunkIndex c(common_.random.Between(1, end() - 1));
    const ModelChunk& m = (*this)[c];
    if (!m.live || chunk(c).dying) continue;
    // Work that names no chunk has no address of what nobody owns.
    if (m.unowned || m.owned > submission) continue;
    CheckMapped(c, "work that may touch it", submission);
    Write(c, submission);
  }
}

bool ModelMemory::CheckThere(ChunkIndex c, const char* who) {
  const ModelChunk& m = (*this)[c];
  if (m.live && m.mapped != Mapped::kNothing && !m.changing) [[likely]]
    return true;
  common_.verdict.Fail("%s finds chunk %u not mapped (live %d, changing %d)", who, c.value, m.live,
                       m.changing);
  return false;
}

void ModelMemory::CheckMapped(ChunkIndex c, const char* who, uint64_t submission) {
  Settle();
  const ModelChunk& m = (*this)[c];
  if (CheckThere(c, who) && m.mapped_version() != m.last &&
      (!m.undefined() || submission < m.undefined_since)) [[unlikely]] {
    common_.verdict.Fail("%s finds version %u of chunk %u, and not %u", who, m.mapped_version(),
                         c.value, m.last);
  }
}

}  // namespace vramspan::simulation
