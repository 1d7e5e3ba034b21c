// Memory for other processes: the chunks of a range get physical memory that can be exported, one
// after the other. Nothing else in the runtime has memory of that kind: it is never cached for
// another chunk (slot_pool.h), for whoever it was given to keeps it mapped as long as he likes.
#include <thread>

#include "runtime/memory/remap.h"
#include "runtime/mover/mover.h"

namespace vramspan {
namespace {

constexpr std::chrono::microseconds kPeriod{50};

}  // namespace

StatusOr<Mover::Shared> Mover::Share(DevicePtr ptr, Bytes size) {
  MutexLock one(sharing_);
  VS_RETURN_IF_ERROR(Hold(ptr, size));
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
    driver_->RecordBackgroundError(Unpin(ptr, size));
    return status;
  }
  Shared shared;
  MutexLock lock(memory_.mu);
  for (const ChunkIndex index : chunks) {
    const Chunk& c = memory_.chunks()[index];
    if (shared.pieces.empty()) shared.base = c.base;
    shared.pieces.push_back({memory_.device_pool().handle(c.device_slot), c.size()});
  }
  return shared;
}

Status Mover::MakeShareable(ChunkIndex index) {
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
  if (const Status closed = CloseUnused(only, /*claim=*/false, "share memory"); !closed.ok())
    return give_up(closed);
  ScopedContext current(*driver_, memory_.options().context);
  Status status = current.status();
  if (status.ok()) status = CopyTo(made, chunk.base, chunk.size());
  RemapResult result;
  if (status.ok()) {
    SharedLock mapping(memory_.mapping_mu);
    result = Remap(*driver_, memory_.accessors(), chunk.base, chunk.size(),
                   pool.handle(chunk.device_slot), made.handle);
    // Both have the contents, and nobody submits anything meanwhile.
    const auto end = Clock::now() + kRemapPatience;
    while (!result.mapped && Clock::now() < end) {
      std::this_thread::sleep_for(kPeriod);
      const Status mapped =
          MapAt(*driver_, memory_.accessors(), chunk.base, chunk.size(), made.handle);
      result.changed = mapped.ok();
      result.mapped = result.changed || MapAt(*driver_, memory_.accessors(), chunk.base,
                                              chunk.size(), pool.handle(chunk.device_slot))
                                            .ok();
    }
    status = result.changed ? absl::OkStatus() : result.status;
    if (!result.mapped) {
      MutexLock lock(memory_.mu);
      memory_.chunks()[index].lost = true;
      accounts_.Record(status);
    }
  }
  if (result.changed) pool.BecomeShareable(chunk.device_slot, made);
  gate_.Open();
  return status.ok() ? status : give_up(status);
}

Status Mover::CopyTo(const Slot& made, DevicePtr from, Bytes size) {
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check((*driver_)->StreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                           "cuStreamCreate", "to copy by"));
  Status status =
      Check((*driver_)->MemcpyDtoDAsync(made.alias.value, from.value, size.value, stream),
            "cuMemcpyDtoDAsync", RangeText(from, size));
  const Status done = Check((*driver_)->StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) status = done;
  driver_->RecordBackgroundError(Check((*driver_)->StreamDestroy(stream), "cuStreamDestroy"));
  return status;
}

}  // namespace vramspan
