// What must be true of every chunk, whatever has happened.
#include <algorithm>
#include <array>

#include "tests/scheduler/simulation/model_memory.h"

namespace vramspan::simulation {
namespace {

constexpr size_t kStates = 8;

// Between two looks a chunk may have changed its state more than once.
bool MayHaveCome(ChunkState from, ChunkState to) {
  static const auto kTable = [] {
    std::array<std::array<bool, kStates>, kStates> may{};
    const auto state = [](size_t i) { return static_cast<ChunkState>(i); };
    for (size_t a = 0; a < kStates; ++a) {
      for (size_t b = 0; b < kStates; ++b) {
        may[a][b] = a == b || IsLegalTransition(state(a), state(b));
        for (size_t by = 0; by < kStates; ++by) {
          // No world frees a chunk, or has one of no use, between two looks.
          if (state(by) == ChunkState::kNone || state(by) == ChunkState::kFresh) continue;
          may[a][b] |=
              IsLegalTransition(state(a), state(by)) && IsLegalTransition(state(by), state(b));
        }
      }
    }
    return may;
  }();
  return kTable[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

}  // namespace

void ModelMemory::CheckSome(uint32_t count) {
  for (; count != 0; --count) {
    if (++next_checked_ >= end()) next_checked_ = 1;
    Check(ChunkIndex(next_checked_));
  }
}

void ModelMemory::Check(ChunkIndex c) {
  ModelChunk& m = (*this)[c];
  if (!m.live) return;
  const Chunk& real = chunk(c);
  if (real.in_flight != m.in_flight + m.detached || real.queued != m.queued ||
      real.in_submission != m.in_submission || real.mapped_only != m.mapped_only) [[unlikely]] {
    common_.verdict.Fail(
        "chunk %u is counted in flight %u, queued %u, in submission %u, mapped only %u; and by the "
        "world %u, %u, %u, %u",
        c.value, real.in_flight, real.queued, real.in_submission, real.mapped_only,
        m.in_flight + m.detached, m.queued, m.in_submission, m.mapped_only);
  }
  if (real.state != m.state) {
    if (!MayHaveCome(m.state, real.state) || !StateFitsMemory(real.state, real.on_device)) {
      common_.verdict.Fail("chunk %u went from %s to %s (on the device: %d)", c.value,
                           ChunkStateName(m.state), ChunkStateName(real.state), real.on_device);
    }
    m.state = real.state;
  }
  if (real.state != ChunkState::kMoving && !m.changing) CheckCopies(c, m, real);
}

void ModelMemory::CheckCopies(ChunkIndex c, const ModelChunk& m, const Chunk& real) {
  const Mapped right = real.on_device  ? Mapped::kDevice
                       : real.unmapped ? Mapped::kNothing
                                       : Mapped::kHost;
  if (m.mapped != right) [[unlikely]] {
    common_.verdict.Fail("chunk %u (%s) is mapped %d, and the scheduler thinks %d", c.value,
                         ChunkStateName(real.state), static_cast<int>(m.mapped),
                         static_cast<int>(right));
  }
  const bool undefined = this->undefined(c);
  if ((real.on_device ? m.device : m.host) != m.last && !undefined) [[unlikely]] {
    common_.verdict.Fail("chunk %u (%s): the last version is %u; on the device %u, the host %u",
                         c.value, ChunkStateName(real.state), m.last, m.device, m.host);
  }
  if (real.state == ChunkState::kDeviceTwin && m.host != m.last && !undefined) [[unlikely]] {
    common_.verdict.Fail("chunk %u: its twin is of version %u, and it of %u", c.value, m.host,
                         m.last);
  }
  const bool copy = real.state == ChunkState::kDeviceTwin || real.state == ChunkState::kDeviceStale;
  if (m.detached == 0 &&
      (m.has_device != real.on_device || m.has_host != (copy || !real.on_device))) [[unlikely]] {
    common_.verdict.Fail("chunk %u (%s) has slots on the device %d, on the host %d", c.value,
                         ChunkStateName(real.state), m.has_device, m.has_host);
  }
}

void ModelMemory::CheckIdle() {
  for (uint32_t i = 1; i < end(); ++i) {
    const ChunkIndex c(i);
    Check(c);
    const ModelChunk& m = (*this)[c];
    if (!m.live) continue;
    const Chunk& real = chunk(c);
    if (!IsUnused(real) || m.detached != 0 || real.lost || real.pending_fingerprints != 0) {
      common_.verdict.Fail("at the end chunk %u (%s) is still in use", c.value,
                           ChunkStateName(real.state));
    }
  }
}

}  // namespace vramspan::simulation
