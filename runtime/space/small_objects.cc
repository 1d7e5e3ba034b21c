#include "runtime/space/small_objects.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/space/buddy.h"
#include "runtime/space/intrusive_list.h"
#include "runtime/space/recently_freed.h"
#include "runtime/space/size_classes.h"

namespace vramspan {
namespace {

static_assert(SmallObjects::kAlignment == Bytes(1 << kUnitLog2));

constexpr int kUnitsPerBlock = 1 << (Buddy::kBlockLog2 - kUnitLog2);

// Large enough for eight objects, so that what is left over at the end is small.
constexpr int SlabOrder(int size_class) {
  return std::bit_width((kClassUnits[size_class] * 8u - 1) / kUnitsPerBlock);
}
constexpr int SlabSlots(int size_class) {
  return (kUnitsPerBlock << SlabOrder(size_class)) / kClassUnits[size_class];
}

struct Chunk2M;

// What a 64 KiB block is; of several taken as one, the first says it for all.
struct Block {
  enum Kind : uint8_t { kFree, kSlab, kWhole };
  static constexpr int kMaxSlots = kUnitsPerBlock;

  // A slab's slots that are taken. Bits past its last slot are set, so that they are never found.
  std::array<uint64_t, kMaxSlots / 64> taken;
  Block* prev = nullptr;  // In the list of its class's slabs that have room.
  Block* next = nullptr;
  Chunk2M* chunk = nullptr;
  uint16_t live = 0;  // Objects in the slab.
  Kind kind = kFree;
  uint8_t order = 0;
  uint8_t size_class = 0;
  uint8_t head = 0;  // The first block of those taken as one; good in each of them.

  bool IsTaken(int slot) const { return (taken[slot / 64] >> (slot % 64) & 1) != 0; }
};
static_assert(sizeof(Block) == 64);
static_assert(SlabSlots(0) == Block::kMaxSlots);

struct Chunk2M {
  std::array<Block, Buddy::kBlocks> blocks;
  Buddy buddy;
  int8_t listed = -1;  // In the list of chunks with this largest free order; -1: full, in none.
  DevicePtr base;
  Chunk2M* prev = nullptr;
  Chunk2M* next = nullptr;

  int IndexOf(const Block* block) const { return static_cast<int>(block - blocks.data()); }
  DevicePtr BaseOf(const Block* block) const {
    return base + Bytes(uint64_t(IndexOf(block)) << Buddy::kBlockLog2);
  }
};

std::string PtrText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace

class SmallObjects::Impl {
 public:
  explicit Impl(Source source) : source_(std::move(source)) {}
  ~Impl() {
    for (const auto& [key, chunk] : chunks_) source_.give_chunk(chunk->base);
  }

  StatusOr<DevicePtr> Allocate(Bytes size) {
    VS_CHECK(size.value != 0 && size <= kMaxSmall);
    if (size > kMaxClassBytes) {
      VS_ASSIGN_OR_RETURN(Block * block, TakeBlocks(Buddy::OrderFor(size), Block::kWhole));
      ++live_;
      return block->chunk->BaseOf(block);
    }
    const int size_class = ClassFor(size);
    Block* slab = with_room_[size_class].front();
    if (slab == nullptr) {
      VS_ASSIGN_OR_RETURN(slab, NewSlab(size_class));
    }
    const int slot = TakeSlot(slab);
    ++live_;
    return slab->chunk->BaseOf(slab) + ClassBytes(size_class) * uint64_t(slot);
  }

  Status Free(DevicePtr p) {
    const Place place = Locate(p);
    if (place.block == nullptr || place.object.base != p) [[unlikely]]
      return NotAnObject(p, place);
    --live_;
    recently_freed_.Add(p);
    if (place.block->kind == Block::kWhole) {
      GiveBlocks(place.block);
    } else {
      GiveSlot(place.block, place.slot);
    }
    return absl::OkStatus();
  }

  StatusOr<Object> Find(DevicePtr p) const {
    const Place place = Locate(p);
    if (place.block != nullptr) return place.object;
    return absl::NotFoundError(absl::StrFormat("no live small allocation holds 0x%x", p.value));
  }

  void Trim() {
    if (Chunk2M* empty = EmptyChunk()) Retire(empty);
  }

  size_t live_objects() const { return live_; }
  size_t chunks() const { return chunks_.size(); }
  size_t metadata_bytes() const {
    using Entry = decltype(chunks_)::value_type;
    // A control byte beside each entry.
    return sizeof(*this) + chunks_.size() * sizeof(Chunk2M) +
           chunks_.capacity() * (sizeof(Entry) + 1);
  }

  void CheckInvariants() const;

 private:
  // Where an address lies: its object and what holds it; a null block for no live object.
  struct Place {
    Block* block = nullptr;
    int slot = 0;
    Object object;
  };

  Chunk2M* ChunkOf(DevicePtr p) const {
    const auto it = chunks_.find(p.value >> kMinChunkLog2);
    return it == chunks_.end() ? nullptr : it->second.get();
  }

  Place Locate(DevicePtr p) const {
    Chunk2M* chunk = ChunkOf(p);
    if (chunk == nullptr) return {};
    Block* block = &chunk->blocks[(p - chunk->base).value >> Buddy::kBlockLog2];
    if (block->kind == Block::kFree) return {};
    block = &chunk->blocks[block->head];
    const DevicePtr start = chunk->BaseOf(block);
    if (block->kind == Block::kWhole) {
      return {block, 0, {start, Bytes(uint64_t{1} << (Buddy::kBlockLog2 + block->order))}};
    }
    const uint32_t units = static_cast<uint32_t>((p - start).value >> kUnitLog2);
    const int slot = static_cast<int>(units / kClassUnits[block->size_class]);
    if (slot >= SlabSlots(block->size_class) || !block->IsTaken(slot)) return {};
    const Bytes size = ClassBytes(block->size_class);
    return {block, slot, {start + size * uint64_t(slot), size}};
  }

  Status NotAnObject(DevicePtr p, const Place& place) const {
    if (place.block != nullptr) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "0x%x is not the start of an allocation: it lies %d bytes into the one at 0x%x", p.value,
          (p - place.object.base).value, place.object.base.value));
    }
    if (recently_freed_.Has(p)) {
      return absl::InvalidArgumentError(PtrText(p) + " was freed before");
    }
    return absl::InvalidArgumentError(
        PtrText(p) + " is not allocated: it was never given out, or freed long ago");
  }

  // The first of 2^order blocks, marked as `kind`.
  StatusOr<Block*> TakeBlocks(int order, Block::Kind kind) {
    Chunk2M* chunk = nullptr;
    // The fullest chunk that has room, so that others get empty.
    for (int k = order; k < Buddy::kOrders && chunk == nullptr; ++k) chunk = by_order_[k].front();
    if (chunk == nullptr) {
      VS_ASSIGN_OR_RETURN(chunk, NewChunk());
    }
    const int first = chunk->buddy.Take(order);
    Relist(chunk);
    for (int i = first; i < first + (1 << order); ++i) {
      chunk->blocks[i].kind = kind;
      chunk->blocks[i].head = static_cast<uint8_t>(first);
    }
    Block* block = &chunk->blocks[first];
    block->order = static_cast<uint8_t>(order);
    return block;
  }

  void GiveBlocks(Block* block) {
    Chunk2M* chunk = block->chunk;
    const int first = chunk->IndexOf(block);
    for (int i = first; i < first + (1 << block->order); ++i) chunk->blocks[i].kind = Block::kFree;
    chunk->buddy.Give(first, block->order);
    if (chunk->buddy.empty() && EmptyChunk() != nullptr) {
      Retire(chunk);
    } else {
      Relist(chunk);
    }
  }

  StatusOr<Block*> NewSlab(int size_class) {
    VS_ASSIGN_OR_RETURN(Block * slab, TakeBlocks(SlabOrder(size_class), Block::kSlab));
    slab->size_class = static_cast<uint8_t>(size_class);
    slab->live = 0;
    const int slots = SlabSlots(size_class);
    for (int word = 0; word < std::ssize(slab->taken); ++word) {
      const int here = std::clamp(slots - word * 64, 0, 64);
      slab->taken[word] = here == 64 ? 0 : ~uint64_t{0} << here;
    }
    with_room_[size_class].PushFront(slab);
    return slab;
  }

  int TakeSlot(Block* slab) {
    size_t word = 0;
    while (slab->taken[word] == ~uint64_t{0}) ++word;
    const int bit = std::countr_one(slab->taken[word]);
    slab->taken[word] |= uint64_t{1} << bit;
    if (++slab->live == SlabSlots(slab->size_class)) with_room_[slab->size_class].Remove(slab);
    return static_cast<int>(word) * 64 + bit;
  }

  void GiveSlot(Block* slab, int slot) {
    slab->taken[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    IntrusiveList<Block>& list = with_room_[slab->size_class];
    if (slab->live-- == SlabSlots(slab->size_class)) list.PushFront(slab);
    if (slab->live == 0) {
      list.Remove(slab);
      GiveBlocks(slab);
    }
  }

  StatusOr<Chunk2M*> NewChunk() {
    VS_ASSIGN_OR_RETURN(const DevicePtr base, source_.take_chunk());
    VS_CHECK(base.value % kGranularity.value == 0);
    auto owned = std::make_unique<Chunk2M>();
    Chunk2M* chunk = owned.get();
    chunk->base = base;
    for (Block& block : chunk->blocks) block.chunk = chunk;
    const bool inserted = chunks_.emplace(base.value >> kMinChunkLog2, std::move(owned)).second;
    VS_CHECK(inserted);
    Relist(chunk);
    return chunk;
  }

  // Only an empty chunk has all its blocks free as one.
  Chunk2M* EmptyChunk() const { return by_order_[Buddy::kOrders - 1].front(); }

  void Relist(Chunk2M* chunk) {
    const int order = chunk->buddy.LargestOrder();
    if (order == chunk->listed) return;
    Unlist(chunk);
    if (order >= 0) by_order_[order].PushFront(chunk);
    chunk->listed = static_cast<int8_t>(order);
  }

  void Unlist(Chunk2M* chunk) {
    if (chunk->listed >= 0) by_order_[chunk->listed].Remove(chunk);
    chunk->listed = -1;
  }

  void Retire(Chunk2M* chunk) {
    Unlist(chunk);
    const DevicePtr base = chunk->base;
    chunks_.erase(base.value >> kMinChunkLog2);
    source_.give_chunk(base);
  }

  const Source source_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Chunk2M>> chunks_;  // By base >> kMinChunkLog2.
  std::array<IntrusiveList<Chunk2M>, Buddy::kOrders> by_order_;     // By largest free order.
  std::array<IntrusiveList<Block>, kClassCount> with_room_;         // Slabs, by class.
  size_t live_ = 0;
  RecentlyFreed recently_freed_;
};

void SmallObjects::Impl::CheckInvariants() const {
  size_t live = 0;
  size_t empty_chunks = 0;
  std::array<int, kClassCount> with_room{};  // Slabs found less slabs listed.
  for (int c = 0; c < kClassCount; ++c) {
    for (const Block* slab = with_room_[c].front(); slab != nullptr; slab = slab->next) {
      VS_CHECK(slab->kind == Block::kSlab && slab->size_class == c);
      VS_CHECK(slab->live < SlabSlots(c));
      --with_room[c];
    }
  }
  for (const auto& [key, chunk] : chunks_) {
    VS_CHECK(chunk->listed == chunk->buddy.LargestOrder());
    empty_chunks += chunk->buddy.empty() ? 1 : 0;
    for (int i = 0; i < Buddy::kBlocks;) {
      const Block& block = chunk->blocks[i];
      VS_CHECK(block.chunk == chunk.get());
      if (block.kind == Block::kFree) {
        ++i;
        continue;
      }
      VS_CHECK(block.head == i);
      if (block.kind == Block::kWhole) {
        ++live;
      } else {
        int taken = 0;
        for (int slot = 0; slot < Block::kMaxSlots; ++slot) {
          const bool past_end = slot >= SlabSlots(block.size_class);
          VS_CHECK(!past_end || block.IsTaken(slot));
          taken += !past_end && block.IsTaken(slot) ? 1 : 0;
        }
        VS_CHECK(taken == block.live && taken != 0);
        live += block.live;
        if (taken < SlabSlots(block.size_class)) ++with_room[block.size_class];
      }
      i += 1 << block.order;
    }
  }
  VS_CHECK(live == live_);
  for (const int unlisted : with_room) VS_CHECK(unlisted == 0);
  VS_CHECK(empty_chunks <= 1);
}

SmallObjects::SmallObjects(Source source) : impl_(std::make_unique<Impl>(std::move(source))) {}
SmallObjects::~SmallObjects() = default;

StatusOr<DevicePtr> SmallObjects::Allocate(Bytes size) { return impl_->Allocate(size); }
Status SmallObjects::Free(DevicePtr p) { return impl_->Free(p); }
StatusOr<SmallObjects::Object> SmallObjects::Find(DevicePtr p) const { return impl_->Find(p); }
void SmallObjects::Trim() { impl_->Trim(); }
size_t SmallObjects::live_objects() const { return impl_->live_objects(); }
size_t SmallObjects::chunks() const { return impl_->chunks(); }
size_t SmallObjects::metadata_bytes() const { return impl_->metadata_bytes(); }
void SmallObjects::CheckInvariants() const { impl_->CheckInvariants(); }

}  // namespace vramspan
