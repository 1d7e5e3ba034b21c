// The address space: pointer to chunk, small objects, ranges, chunk sizes. No driver.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <random>
#include <vector>

#include "runtime/space/allocations.h"
#include "runtime/space/arena.h"
#include "runtime/space/page_map.h"
#include "runtime/space/small_objects.h"

namespace vramspan {
namespace {

constexpr DevicePtr kBase(0x200000000000);
constexpr Bytes kArena{uint64_t{1} << 46};

// Pointers into the middle of randomly chosen allocations: a power of two of them, so many that
// every allocation has its turn and none is in a cache only because the list is short.
std::vector<DevicePtr> Queries(const std::vector<DevicePtr>& allocations) {
  std::mt19937_64 random(1);
  std::vector<DevicePtr> queries(std::bit_ceil(std::max(size_t{2048}, allocations.size())));
  for (DevicePtr& q : queries) {
    q = allocations[random() % allocations.size()] + Bytes(random() % kGranularity.value);
  }
  return queries;
}

void Lookup(benchmark::State& state, const std::vector<DevicePtr>& allocations) {
  const auto map = PageMap::Create(kBase, kArena).value();
  uint32_t index = 0;
  for (const DevicePtr p : allocations) map->Set(p, kGranularity, ChunkIndex(++index));
  const std::vector<DevicePtr> queries = Queries(allocations);
  const size_t mask = queries.size() - 1;
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(map->Find(queries[i++ & mask]));
  }
}

// Where the arena puts them: one after the other.
void BM_PointerToChunk(benchmark::State& state) {
  const auto arena = Arena::Over(kBase, kArena);
  std::vector<DevicePtr> allocations(state.range(0));
  for (DevicePtr& p : allocations) p = arena->Take(kGranularity, kGranularity).value();
  Lookup(state, allocations);
}
BENCHMARK(BM_PointerToChunk)->Arg(10)->Arg(1'000)->Arg(1'000'000);

// Anywhere in 64 TiB: what the map costs when nothing is dense.
void BM_PointerToChunkScattered(benchmark::State& state) {
  std::mt19937_64 random(2);
  std::vector<DevicePtr> allocations(state.range(0));
  for (DevicePtr& p : allocations) p = kBase + kGranularity * (random() % (kArena / kGranularity));
  Lookup(state, allocations);
}
BENCHMARK(BM_PointerToChunkScattered)->Arg(10)->Arg(1'000)->Arg(1'000'000);

// A value that is no pointer of ours, as most slots of a kernel's parameters.
void BM_ForeignPointer(benchmark::State& state) {
  const auto map = PageMap::Create(kBase, kArena).value();
  std::mt19937_64 random(3);
  std::vector<DevicePtr> queries(2048);
  const size_t mask = queries.size() - 1;
  for (DevicePtr& q : queries) q = DevicePtr(random() >> 20);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(map->Find(queries[i++ & mask]));
  }
}
BENCHMARK(BM_ForeignPointer);

class Chunks {
 public:
  SmallObjects::Source source() {
    return {.take_chunk = [this] { return arena_->Take(kGranularity, kGranularity); },
            .give_chunk = [this](DevicePtr p) { arena_->Give(p, kGranularity); }};
  }

 private:
  const std::unique_ptr<Arena> arena_ = Arena::Over(kBase, kArena);
};

void AllocateAndFree(benchmark::State& state, Bytes size) {
  Chunks chunks;
  SmallObjects objects(chunks.source());
  std::mt19937_64 random(4);
  for (int64_t i = 0; i < state.range(0); ++i) {
    if (!objects.Allocate(Bytes(1 + random() % 4096)).ok()) std::abort();
  }
  for (auto _ : state) {
    const DevicePtr p = objects.Allocate(size).value();
    benchmark::DoNotOptimize(p);
    if (!objects.Free(p).ok()) std::abort();
  }
}

// Argument: other live objects.
void BM_SmallAllocateFree256B(benchmark::State& state) { AllocateAndFree(state, Bytes(256)); }
BENCHMARK(BM_SmallAllocateFree256B)->Arg(0)->Arg(1'000)->Arg(1'000'000);

void BM_SmallAllocateFree1MiB(benchmark::State& state) { AllocateAndFree(state, MiB(1)); }
BENCHMARK(BM_SmallAllocateFree1MiB)->Arg(0)->Arg(1'000'000);

// Random frees and allocations of 256 bytes among a million.
void BM_SmallChurn256B(benchmark::State& state) {
  Chunks chunks;
  SmallObjects objects(chunks.source());
  std::vector<DevicePtr> live(1'000'000);
  for (DevicePtr& p : live) p = objects.Allocate(Bytes(256)).value();
  std::minstd_rand random(5);
  for (auto _ : state) {
    DevicePtr& p = live[random() % live.size()];
    if (!objects.Free(p).ok()) std::abort();
    p = objects.Allocate(Bytes(256)).value();
  }
}
BENCHMARK(BM_SmallChurn256B);

// A range taken and given back among so many holes.
void BM_ArenaTakeGive(benchmark::State& state) {
  const auto arena = Arena::Over(kBase, kArena);
  std::vector<DevicePtr> taken(2 * state.range(0));
  for (DevicePtr& p : taken) p = arena->Take(kGranularity, kGranularity).value();
  for (size_t i = 0; i < taken.size(); i += 2) arena->Give(taken[i], kGranularity);
  for (auto _ : state) {
    const DevicePtr p = arena->Take(MiB(64), MiB(64)).value();
    benchmark::DoNotOptimize(p);
    arena->Give(p, MiB(64));
  }
}
BENCHMARK(BM_ArenaTakeGive)->Arg(0)->Arg(1'000)->Arg(500'000);

// Argument: MiB.
void BM_ChunkSizesFor(benchmark::State& state) {
  const Bytes size = MiB(state.range(0)) + Bytes(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ChunkSizesFor(size, 0));
  }
}
BENCHMARK(BM_ChunkSizesFor)->Arg(2)->Arg(62)->Arg(1'022)->Arg(65'534);

}  // namespace
}  // namespace vramspan
