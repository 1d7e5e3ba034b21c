#include "tools/replay/virtual_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "tools/replay/unwritten.h"

namespace vramspan::replay {

VirtualMemory::VirtualMemory(const ChunkedRun* chunks, const ReplayPrices& prices,
                             Bytes device_memory, RunRecorder* recorder)
    : prices_(prices),
      budget_(device_memory),
      recorder_(*recorder),
      facts_(chunks->end()),
      slots_(prices) {
  // An entry for each, whether or not it lives yet: ids are never used twice.
  StatusOr<std::unique_ptr<ChunkTable>> table = ChunkTable::Create(std::max(chunks->end(), 2u) - 1);
  VS_CHECK(table.ok());
  table_ = *std::move(table);
  for (uint32_t c = 1; c < chunks->end(); ++c) {
    VS_CHECK(table_->Add().value().value == c);
    Chunk& chunk = (*this)[ChunkIndex(c)];
    while (chunk.size() < chunks->size(ChunkIndex(c))) ++chunk.log2_size;
    chunk.movable = true;
  }
  for (uint32_t a = 0; const bool unwritten : UnwrittenByMoves(chunks->run())) {
    for (uint32_t i = 0; i < chunks->count(a); ++i) {
      facts_[chunks->first(a).value + i].unwritten = unwritten;
    }
    ++a;
  }
  for (uint32_t c = 0; const uint32_t from : UnwrittenByFingerprints(*chunks)) {
    facts_[c++].unwritten_from = from;
  }
}

void VirtualMemory::AddPacked(uint64_t now, Bytes size) {
  used_ += size;
  allocated_ += size;
  recorder_.Packed(now, size, /*came=*/true);
}

void VirtualMemory::RemovePacked(uint64_t now, Bytes size) {
  used_ -= size;
  allocated_ -= size;
  recorder_.Packed(now, size, /*came=*/false);
}

bool VirtualMemory::Add(uint64_t now, ChunkIndex index, uint32_t allocation) {
  Chunk& c = (*this)[index];
  table_->NoteChange(index);
  c.allocation = allocation + 1;
  c.Transition(ChunkState::kFresh);
  allocated_ += c.size();
  if (c.size() > available()) {
    c.Transition(ChunkState::kHost);
    return false;
  }
  c.on_device = true;
  c.Transition(ChunkState::kDevice);
  TakeSlot(index, /*alias=*/false);
  recorder_.Came(now, index, /*fetched=*/false);
  return true;
}

void VirtualMemory::Free(ChunkIndex index) {
  table_->NoteChange(index);
  (*this)[index].dying = true;
  ++dying_;
}

bool VirtualMemory::Reclaim(uint64_t now, ChunkIndex index, bool* was_on_device) {
  Chunk& c = (*this)[index];
  if (!c.dying || !IsUnused(c) || c.state == ChunkState::kNone) return false;
  table_->NoteChange(index);
  c.Transition(ChunkState::kNone);
  allocated_ -= c.size();
  if (std::exchange(facts(index).has_host, false)) {
    ++spare_host_[c.log2_size - kMinChunkLog2];
    on_host_ -= c.size();
  }
  --dying_;
  table_->SetUnmapped(index, false);
  *was_on_device = c.on_device;
  c.on_device = false;
  if (*was_on_device) Left(now, index);
  return true;
}

uint64_t VirtualMemory::MakeHost(ChunkIndex index) {
  if (std::exchange(facts(index).has_host, true)) return 0;
  on_host_ += (*this)[index].size();
  const int size = (*this)[index].log2_size - kMinChunkLog2;
  if (spare_host_[size] != 0) {
    --spare_host_[size];
    return 0;
  }
  const double begin = std::exchange(made_host_, true) ? 0 : prices_.begin;
  return static_cast<uint64_t>(1e3 * (begin + prices_.host[size].create));
}

double VirtualMemory::TakeSlot(ChunkIndex index, bool alias) {
  const Chunk& c = (*this)[index];
  used_ += c.size();
  return slots_.Take(c.log2_size, alias, available(), &facts(index).alias);
}

void VirtualMemory::Came(uint64_t now, ChunkIndex index) {
  facts(index).written = false;
  recorder_.Came(now, index, /*fetched=*/true);
}

void VirtualMemory::Left(uint64_t now, ChunkIndex index) {
  const Chunk& c = (*this)[index];
  used_ -= c.size();
  slots_.Give(c.log2_size, facts(index).alias);
  recorder_.Left(now, index);
}

}  // namespace vramspan::replay
