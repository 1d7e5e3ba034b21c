#include "runtime/mover/sharing.h"

#include <chrono>
#include <thread>

#include "runtime/memory/remap.h"

namespace vramspan {
namespace {

constexpr std::chrono::microseconds kSharePeriod{50};

}  // namespace

StatusOr<SharedMemory> Sharing::Share(DevicePtr ptr, Bytes size) {
  MutexLock alone(unmapping_.one);
  VS_RETURN_IF_ERROR(placements_.Hold(ptr, size));
  std::vector<ChunkIndex> chunks;
  {
    MutexLock lock(memory_.mu);
    memory_.ForEachChunk(ptr, size, [&](ChunkIndex index, Chunk&) { chunks.push_back(index); });
  }
  Status status;
  for (const ChunkIndex index : chunks) {
    if (status.ok()) status = MakeShareable(index);
  }
  if (!status.ok()) {
    memory_.driver().RecordBackgroundError(placements_.Unpin(ptr, size));
    return status;
  }
  SharedMemory shared;
  MutexLock lock(memory_.mu);
  for (const ChunkIndex index : chunks) {
    const Chunk& c = memory_.chunks()[index];
    if (shared.pieces.empty()) shared.base = c.base;
    shared.pieces.push_back({memory_.device_pool().handle(c.device_slot), c.size()});
  }
  return shared;
}

Status Sharing::MakeShareable(ChunkIndex index) {
  DevicePool& pool = memory_.device_pool();
  Chunk chunk;
  {
    MutexLock lock(memory_.mu);
    chunk = memory_.chunks()[index];
  }
  if (pool.shareable(chunk.device_slot)) return absl::OkStatus();
  const StatusOr<Slot> created = pool.MakeShareable(chunk.log2_size);
  if (absl::IsResourceExhausted(created.status())) {
    return absl::UnavailableError(created.status().message());
  }
  VS_RETURN_IF_ERROR(created.status());
  const Slot made = *created;
  const auto give_up = [&](const Status& why) {
    pool.DropShareable(chunk.log2_size, made);
    return why;
  };
  const ChunkIndex only[] = {index};
  if (const Status closed = unmapping_.CloseUnused(only, /*claim=*/false, "share memory");
      !closed.ok())
    return give_up(closed);
  ScopedContext current(memory_.driver(), memory_.options().context);
  Status status = current.status();
  if (status.ok()) status = CopyTo(made, chunk.base, chunk.size());
  RemapResult result;
  if (status.ok()) {
    SharedLock mapping(memory_.peers().mapping_mu);
    result = Remap(memory_.driver(), memory_.peers().accessors(), chunk.base, chunk.size(),
                   pool.handle(chunk.device_slot), made.handle);
    // Both have the contents, and nobody submits anything meanwhile.
    const auto end = std::chrono::steady_clock::now() + kRemapPatience;
    while (!result.mapped && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kSharePeriod);
      const Status mapped = MapAt(memory_.driver(), memory_.peers().accessors(), chunk.base,
                                  chunk.size(), made.handle);
      result.changed = mapped.ok();
      result.mapped =
          result.changed || MapAt(memory_.driver(), memory_.peers().accessors(), chunk.base,
                                  chunk.size(), pool.handle(chunk.device_slot))
                                .ok();
    }
    status = result.changed ? absl::OkStatus() : result.status;
    if (!result.mapped) {
      MutexLock lock(memory_.mu);
      memory_.chunks()[index].lost = true;
      memory_.chunks().NoteChange(index);
      accounts_.Record(status);
    }
  }
  if (result.changed) pool.BecomeShareable(chunk.device_slot, made);
  unmapping_.OpenGate();
  return status.ok() ? status : give_up(status);
}

Status Sharing::CopyTo(const Slot& made, DevicePtr from, Bytes size) {
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check(memory_.driver()->StreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                           "cuStreamCreate", "to copy by"));
  Status status =
      Check(memory_.driver()->MemcpyDtoDAsync(made.alias.value, from.value, size.value, stream),
            "cuMemcpyDtoDAsync", RangeText(from, size));
  const Status done = Check(memory_.driver()->StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) status = done;
  memory_.driver().RecordBackgroundError(
      Check(memory_.driver()->StreamDestroy(stream), "cuStreamDestroy"));
  return status;
}

}  // namespace vramspan
