#include "runtime/space/small_objects.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
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

// The objects of one class in some blocks of a chunk.
struct Slab {
  static constexpr int kMaxSlots = kUnitsPerBlock;

  // The slots that are taken. Bits past the last slot are set, so that they are never found.
  std::array<uint64_t, kMaxSlots / 64> taken;
  Slab* prev = nullptr;  // In the list of its class's slabs that have room, or of unused ones.
  Slab* next = nullptr;
  Chunk2M* chunk = nullptr;
  uint32_t index = 0;  // In the table of slabs.
  uint16_t live = 0;   // Objects in it.
  uint8_t first = 0;   // Its first block.
  uint8_t size_class = 0;

  bool IsTaken(int slot) const { return (taken[slot / 64] >> (slot % 64) & 1) != 0; }
};
static_assert(sizeof(Slab) == 64);
static_assert(SlabSlots(0) == Slab::kMaxSlots);

// What a 64 KiB block is. Of several taken as one, the first says it and the others name the first.
struct Block {
  enum Kind : uint32_t {
    kFree,
    kSlab,   // `value`: the slab's index.
    kWhole,  // `value`: the order of an object of its own.
    kRest,   // `value`: the first block.
  };
  Kind kind : 3 = kFree;
  uint32_t value : 29 = 0;
};
static_assert(sizeof(Block) == 4);

struct Chunk2M {
  std::array<Block, Buddy::kBlocks> blocks;
  Buddy buddy;
  DevicePtr base;
  Chunk2M* prev = nullptr;
  Chunk2M* next = nullptr;
  int8_t listed = -1;  // In the list of chunks with this largest free order; -1: full, in none.

  DevicePtr BlockBase(int block) const {
    return base + Bytes(uint64_t(block) << Buddy::kBlockLog2);
  }
};
static_assert(sizeof(Chunk2M) <= 184);

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
      const int order = Buddy::OrderFor(size);
      VS_ASSIGN_OR_RETURN(const Blocks blocks,
                          TakeBlocks(order, {Block::kWhole, static_cast<uint32_t>(order)}));
      ++live_;
      return blocks.chunk->BlockBase(blocks.first);
    }
    const int size_class = ClassFor(size);
    Slab* slab = with_room_[size_class].front();
    if (slab == nullptr) {
      VS_ASSIGN_OR_RETURN(slab, NewSlab(size_class));
    }
    const int slot = TakeSlot(slab);
    ++live_;
    return slab->chunk->BlockBase(slab->first) + ClassBytes(size_class) * uint64_t(slot);
  }

  Status Free(DevicePtr p) {
    const Place place = Locate(p);
    if (place.chunk == nullptr || place.object.base != p) [[unlikely]]
      return NotAnObject(p, place);
    --live_;
    recently_freed_.Add(p);
    if (place.slab == nullptr) {
      GiveBlocks({place.chunk, place.first},
                 static_cast<int>(place.chunk->blocks[place.first].value));
    } else {
      GiveSlot(&slabs_[place.slab->index], place.slot);
    }
    return absl::OkStatus();
  }

  StatusOr<Object> Find(DevicePtr p) const {
    const Place place = Locate(p);
    if (place.chunk != nullptr) return place.object;
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
    return sizeof(*this) + chunks_.size() * sizeof(Chunk2M) + slabs_.size() * sizeof(Slab) +
           chunks_.capacity() * (sizeof(Entry) + 1);
  }

  void CheckInvariants() const;

 private:
  // Where an address lies: its object and what holds it; a null chunk for no live object.
  struct Place {
    Chunk2M* chunk = nullptr;
    int first = 0;               // The object's first block, or its slab's.
    const Slab* slab = nullptr;  // Null for an object of its own.
    int slot = 0;
    Object object;
  };
  struct Blocks {
    Chunk2M* chunk;
    int first;
  };

  Chunk2M* ChunkOf(DevicePtr p) const {
    const auto it = chunks_.find(p.value >> kMinChunkLog2);
    return it == chunks_.end() ? nullptr : it->second.get();
  }

  Place Locate(DevicePtr p) const {
    Chunk2M* chunk = ChunkOf(p);
    if (chunk == nullptr) return {};
    int first = static_cast<int>((p - chunk->base).value >> Buddy::kBlockLog2);
    if (chunk->blocks[first].kind == Block::kRest) {
      first = static_cast<int>(chunk->blocks[first].value);
    }
    const Block block = chunk->blocks[first];
    if (block.kind == Block::kFree) return {};
    const DevicePtr start = chunk->BlockBase(first);
    if (block.kind == Block::kWhole) {
      const Bytes size(uint64_t{1} << (Buddy::kBlockLog2 + block.value));
      return {.chunk = chunk, .first = first, .object = {start, size}};
    }
    const Slab* slab = &slabs_[block.value];
    const uint32_t units = static_cast<uint32_t>((p - start).value >> kUnitLog2);
    const int slot = static_cast<int>(units / kClassUnits[slab->size_class]);
    if (slot >= SlabSlots(slab->size_class) || !slab->IsTaken(slot)) return {};
    const Bytes size = ClassBytes(slab->size_class);
    return {chunk, first, slab, slot, {start + size * uint64_t(slot), size}};
  }

  Status NotAnObject(DevicePtr p, const Place& place) const {
    if (place.chunk != nullptr) {
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

  // 2^order blocks, the first marked as `mark`.
  StatusOr<Blocks> TakeBlocks(int order, Block mark) {
    Chunk2M* chunk = nullptr;
    // The fullest chunk that has room, so that others get empty.
    for (int k = order; k < Buddy::kOrders && chunk == nullptr; ++k) chunk = by_order_[k].front();
    if (chunk == nullptr) {
      VS_ASSIGN_OR_RETURN(chunk, NewChunk());
    }
    const int first = chunk->buddy.Take(order);
    Relist(chunk);
    chunk->blocks[first] = mark;
    for (int i = first + 1; i < first + (1 << order); ++i) {
      chunk->blocks[i] = {Block::kRest, static_cast<uint32_t>(first)};
    }
    return Blocks{chunk, first};
  }

  void GiveBlocks(Blocks blocks, int order) {
    Chunk2M* chunk = blocks.chunk;
    for (int i = blocks.first; i < blocks.first + (1 << order); ++i) chunk->blocks[i] = {};
    chunk->buddy.Give(blocks.first, order);
    if (chunk->buddy.empty() && EmptyChunk() != nullptr) {
      Retire(chunk);
    } else {
      Relist(chunk);
    }
  }

  StatusOr<Slab*> NewSlab(int size_class) {
    Slab* slab = unused_.front();
    const uint32_t index = slab != nullptr ? slab->index : static_cast<uint32_t>(slabs_.size());
    VS_ASSIGN_OR_RETURN(const Blocks blocks,
                        TakeBlocks(SlabOrder(size_class), {Block::kSlab, index}));
    if (slab != nullptr) {
      unused_.Remove(slab);
    } else {
      slab = &slabs_.emplace_back();
      slab->index = index;
    }
    slab->chunk = blocks.chunk;
    slab->first = static_cast<uint8_t>(blocks.first);
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

  int TakeSlot(Slab* slab) {
    size_t word = 0;
    while (slab->taken[word] == ~uint64_t{0}) ++word;
    const int bit = std::countr_one(slab->taken[word]);
    slab->taken[word] |= uint64_t{1} << bit;
    if (++slab->live == SlabSlots(slab->size_class)) with_room_[slab->size_class].Remove(slab);
    return static_cast<int>(word) * 64 + bit;
  }

  void GiveSlot(Slab* slab, int slot) {
    slab->taken[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    IntrusiveList<Slab>& list = with_room_[slab->size_class];
    if (slab->live-- == SlabSlots(slab->size_class)) list.PushFront(slab);
    if (slab->live == 0) {
      list.Remove(slab);
      GiveBlocks({slab->chunk, slab->first}, SlabOrder(slab->size_class));
      unused_.PushFront(slab);
    }
  }

  StatusOr<Chunk2M*> NewChunk() {
    VS_ASSIGN_OR_RETURN(const DevicePtr base, source_.take_chunk());
    VS_CHECK(base.value % kGranularity.value == 0);
    auto owned = std::make_unique<Chunk2M>();
    Chunk2M* chunk = owned.get();
    chunk->base = base;
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
  std::deque<Slab> slabs_;                                          // They never move.
  IntrusiveList<Slab> unused_;
  std::array<IntrusiveList<Slab>, kClassCount> with_room_;  // By class.
  size_t live_ = 0;
  RecentlyFreed recently_freed_;
};

void SmallObjects::Impl::CheckInvariants() const {
  size_t live = 0;
  size_t empty_chunks = 0;
  std::array<int, kClassCount> with_room{};  // Slabs found less slabs listed.
  for (int c = 0; c < kClassCount; ++c) {
    for (const Slab* slab = with_room_[c].front(); slab != nullptr; slab = slab->next) {
      VS_CHECK(slab->size_class == c && slab->live < SlabSlots(c));
      --with_room[c];
    }
  }
  size_t slabs = 0;
  for (const Slab* slab = unused_.front(); slab != nullptr; slab = slab->next) ++slabs;
  for (const auto& [key, chunk] : chunks_) {
    VS_CHECK(chunk->listed == chunk->buddy.LargestOrder());
    empty_chunks += chunk->buddy.empty() ? 1 : 0;
    for (int i = 0; i < Buddy::kBlocks;) {
      const Block& block = chunk->blocks[i];
      VS_CHECK(block.kind != Block::kRest);
      if (block.kind == Block::kFree) {
        ++i;
        continue;
      }
      int order = static_cast<int>(block.value);
      if (block.kind == Block::kWhole) {
        ++live;
      } else {
        ++slabs;
        const Slab& slab = slabs_[block.value];
        VS_CHECK(slab.index == block.value && slab.chunk == chunk.get() && slab.first == i);
        order = SlabOrder(slab.size_class);
        int taken = 0;
        for (int slot = 0; slot < Slab::kMaxSlots; ++slot) {
          const bool past_end = slot >= SlabSlots(slab.size_class);
          VS_CHECK(!past_end || slab.IsTaken(slot));
          taken += !past_end && slab.IsTaken(slot) ? 1 : 0;
        }
        VS_CHECK(taken == slab.live && taken != 0);
        live += slab.live;
        if (taken < SlabSlots(slab.size_class)) ++with_room[slab.size_class];
      }
      for (int k = i + 1; k < i + (1 << order); ++k) {
        VS_CHECK(chunk->blocks[k].kind == Block::kRest);
        VS_CHECK(chunk->blocks[k].value == static_cast<uint32_t>(i));
      }
      i += 1 << order;
    }
  }
  VS_CHECK(slabs == slabs_.size());
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
