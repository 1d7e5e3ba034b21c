#include "runtime/space/chunk_table.h"

#include <absl/strings/str_format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <type_traits>

#include "runtime/base/log.h"
#include "runtime/space/no_addresses.h"

namespace vramspan {
namespace {

static_assert(std::is_trivially_destructible_v<Chunk>);

// `base` of a free entry: no chunk starts at the last byte, so a second Remove is noticed.
constexpr DevicePtr kFreeMark(~uint64_t{0});

size_t TableBytes(uint32_t capacity) { return (size_t{capacity} + 1) * sizeof(Chunk); }

}  // namespace

StatusOr<std::unique_ptr<ChunkTable>> ChunkTable::Create(uint32_t capacity) {
  if (capacity == 0 || capacity == ~uint32_t{0}) {
    return absl::InvalidArgumentError(
        absl::StrFormat("chunk table for %d chunks: use 1 to %d", capacity, ~uint32_t{0} - 1));
  }
  void* table = mmap(nullptr, TableBytes(capacity), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("chunk table for %d chunks: mmap of %d bytes failed (%s)", capacity,
                        TableBytes(capacity), std::strerror(errno)));
  }
  return std::unique_ptr<ChunkTable>(new ChunkTable(static_cast<Chunk*>(table), capacity));
}

ChunkTable::~ChunkTable() { munmap(chunks_, TableBytes(capacity_)); }

StatusOr<ChunkIndex> ChunkTable::Add() {
  ChunkIndex chunk(first_free_);
  if (chunk) {
    VS_CHECK(chunks_[chunk.value].base == kFreeMark);
    first_free_ = chunks_[chunk.value].device_slot;
  } else if (end_ <= capacity_) {
    chunk = ChunkIndex(end_++);
  } else {
    return NoAddresses(absl::StrFormat("all %d entries of the chunk table are in use", capacity_));
  }
  new (&chunks_[chunk.value]) Chunk();
  ++live_;
  NoteChange(chunk);
  return chunk;
}

void ChunkTable::Remove(ChunkIndex chunk) {
  VS_CHECK(chunk && chunk.value < end_);
  Chunk& entry = chunks_[chunk.value];
  VS_CHECK(entry.base != kFreeMark);
  VS_CHECK(entry.state != ChunkState::kMoving);
  entry = Chunk();
  entry.base = kFreeMark;
  entry.device_slot = first_free_;
  first_free_ = chunk.value;
  --live_;
  NoteChange(chunk);
  removed_.Add(chunk);
  if (told_ != nullptr) told_->removed.Add(chunk);
}

}  // namespace vramspan
