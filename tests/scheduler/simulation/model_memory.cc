#include "tests/scheduler/simulation/model_memory.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <array>

namespace vramspan::simulation {

ModelMemory::ModelMemory(Common* common)
    : common_(*common),
      table_(ChunkTable::Create(2 * common->options.chunks + 8).value()),
      chunks_(2 * common->options.chunks + 9) {}

ChunkIndex ModelMemory::Add(int log2, EvictionPolicy* policy) {
  const StatusOr<ChunkIndex> added = table_->Add();
  if (!added.ok()) return ChunkIndex();
  const ChunkIndex c = *added;
  Chunk& real = chunk(c);
  real.log2_size = static_cast<uint8_t>(log2);
  real.base = next_;
  next_ = next_ + real.size();
  real.allocation = 1;
  real.tracked = !common_.draining;
  real.movable = !common_.options.declared_first;
  real.read_mostly = common_.random.Chance(100);
  if (common_.random.Chance(60)) real.advice = static_cast<Advice>(common_.random.Between(1, 3));
  real.Transition(ChunkState::kFresh);
  ModelChunk& m = (*this)[c];
  m = {.last = 1, .live = true, .life = ++lives_};
  total_ += real.size();
  if (TakeDevice(c)) {
    m.device = 1;
    m.mapped = Mapped::kDevice;
    real.on_device = true;
    real.device_slot = 0;
    real.Transition(ChunkState::kDevice);
    policy->OnInsert(c);
  } else {
    TakeHost(c);
    m.host = 1;
    m.mapped = Mapped::kHost;
    real.Transition(ChunkState::kHost);
  }
  m.state = real.state;
  return c;
}

void ModelMemory::Free(ChunkIndex c) {
  chunk(c).dying = true;
  table_->NoteChange(c);
  dying_.push_back(c);
}

void ModelMemory::Reclaim(EvictionPolicy* policy) {
  std::erase_if(dying_, [&](ChunkIndex c) {
    const Chunk& real = chunk(c);
    if (!IsUnused(real)) return false;
    ModelChunk& m = (*this)[c];
    if (m.in_flight + m.queued + m.in_submission + m.mapped_only + m.detached != 0) {
      common_.verdict.Fail("chunk %u is in use by the world, and not by its counts", c.value);
    }
    if (real.on_device) policy->OnRemove(c);
    table_->SetUnmapped(c, false);
    m.live = false;
    total_ -= real.size();
    if (m.has_device) GiveDevice(c);
    if (m.has_host) GiveHost(c);
    m = {};
    table_->Remove(c);
    return true;
  });
}

void ModelMemory::CheckAllMapped(bool still) {
  for (uint32_t i = 1; i < end(); ++i) {
    const ChunkIndex c(i);
    const ModelChunk& m = (*this)[c];
    if (!m.live) continue;
    if (still) {
      CheckMapped(c, "work that may touch it");
    } else if (chunk(c).unmapped || (m.mapped == Mapped::kNothing && !m.changing)) [[unlikely]] {
      common_.verdict.Fail("chunk %u is not mapped, and work comes that needs all mapped", c.value);
    }
  }
}

void ModelMemory::CheckFound(const SimWork& work, const char* when) {
  work.ForEachFixed([&](const ChunkUse& use) {
    CheckMapped(use.chunk, when, work.submission);
    if (chunk(use.chunk).state == ChunkState::kMoving) [[unlikely]] {
      common_.verdict.Fail("%s work %llu: its chunk %u moves", when,
                           static_cast<unsigned long long>(work.id), use.chunk.value);
    }
  });
  for (const ChunkUse& use : work.mapped_only) {
    const ModelChunk& m = (*this)[use.chunk];
    if (m.live && (m.changing || m.mapped != Mapped::kNothing)) continue;
    // It may be remapped meanwhile, and that may fail.
    if (work.started && chunk(use.chunk).lost) continue;
    common_.verdict.Fail("%s work %llu: chunk %u, to be mapped, is not", when,
                         static_cast<unsigned long long>(work.id), use.chunk.value);
  }
}

void ModelMemory::Touch(const SimWork& work, bool all) {
  const auto touch = [&](const ChunkUse& use) {
    CheckMapped(use.chunk, "running work", work.submission);
    if (use.how.write && common_.random.Chance(700)) Write(use.chunk, work.submission);
  };
  for (const ChunkUse& use : work.uses) touch(use);
  if (work.barrier()) WriteAnywhere(work.submission);
  if (!all) return;
  for (const ChunkUse& use : work.possible) {
    if (!common_.random.Chance(300)) continue;
    // It reads a little past the end of what it was given, and goes by nothing there.
    if (absl::c_linear_search(work.beside, use.chunk)) {
      CheckThere(use.chunk, "running work");
    } else {
      touch(use);
    }
  }
}

bool ModelMemory::TakeDevice(ChunkIndex c) {
  const Bytes size = chunk(c).size();
  if (used_ + size > budget_ && !common_.Lies(Sabotage::kIgnoreBudget)) return false;
  used_ += size;
  (*this)[c].has_device = true;
  if (used_ > budget_) {
    common_.verdict.Fail("%llu bytes of device memory are used, and %llu granted",
                         static_cast<unsigned long long>(used_.value),
                         static_cast<unsigned long long>(budget_.value));
  }
  return true;
}

void ModelMemory::GiveDevice(ChunkIndex c) {
  ModelChunk& m = (*this)[c];
  used_ -= chunk(c).size();
  m.has_device = false;
  m.device = 0;
  if (m.live && m.host != m.last && !undefined(c)) {
    common_.verdict.Fail("the device copy of chunk %u was given back, and the host's is old",
                         c.value);
  }
}

void ModelMemory::TakeHost(ChunkIndex c) { (*this)[c].has_host = true; }

void ModelMemory::GiveHost(ChunkIndex c) {
  ModelChunk& m = (*this)[c];
  if (!m.has_host) common_.verdict.Fail("the host slot of chunk %u is given back twice", c.value);
  m.has_host = false;
  m.host = 0;
  if (m.live && m.device != m.last && !undefined(c)) {
    common_.verdict.Fail("the host copy of chunk %u was given back, and the device's is old",
                         c.value);
  }
}

Moment ModelMemory::At() {
  const Bytes available = used_ < budget_ ? budget_ - used_ : Bytes(0);
  return {.now = common_.now,
          .budget = budget_,
          .used = used_,
          .available = available,
          .host_has_room = true,
          .draining = common_.draining,
          .follows_writers = common_.options.follows_writers};
}

void ModelMemory::Held(const SimWork& work, int by) {
  if (work.kind == Work::Kind::kEvict) return;
  work.ForEach([&](const ChunkUse& u) { (*this)[u.chunk].queued += by; });
}

void ModelMemory::Released(const SimWork& work, int by) {
  if (work.kind == Work::Kind::kEvict) return;
  work.ForEachFixed([&](const ChunkUse& u) { (*this)[u.chunk].in_flight += by; });
  for (const ChunkUse& u : work.mapped_only) (*this)[u.chunk].mapped_only += by;
}

void ModelMemory::InSubmission(const SimWork& work, int by) {
  work.ForEach([&](const ChunkUse& u) {
    if (!u.how.kernels_only) (*this)[u.chunk].in_submission += by;
  });
}

}  // namespace vramspan::simulation
