#include "tools/simcuda/memory/allocations.h"

#include <memory>
#include <utility>
#include <vector>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/mem_pool.h"
#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {
namespace {

Range OwnedRange(const Context& context, char* base, size_t size, RangeKind kind, unsigned flags) {
  Range range;
  range.base = base;
  range.size = size;
  range.kind = kind;
  range.context_id = context.id();
  range.context = context.handle();
  range.flags = flags;
  return range;
}

CUresult AllocateFromHeap(Context& context, size_t size, RangeKind kind, CUdeviceptr* address) {
  BlockHeap& heap = DeviceHeap(context.device());
  char* base = heap.Allocate(size);
  if (base == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Range range = OwnedRange(context, base, size, kind, 0);
  range.device = &context.device();
  range.block = heap.BlockOf(base);
  AddressMap::Get().Insert(std::move(range));
  *address = reinterpret_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}

}  // namespace

BlockHeap& DeviceHeap(Device& device) {
  static auto* const heaps = [] {
    auto* made = new std::vector<std::unique_ptr<BlockHeap>>();
    const Driver& driver = Driver::Get();
    for (int i = 0; i < driver.device_count(); ++i) {
      made->push_back(std::make_unique<BlockHeap>(driver.device(i)->memory()));
    }
    return made;
  }();
  return *(*heaps)[static_cast<size_t>(device.ordinal())];
}

CUresult AllocateDevice(Context& context, size_t size, CUdeviceptr* address) {
  return AllocateFromHeap(context, size, RangeKind::kDevice, address);
}

CUresult AllocateArray(Context& context, size_t size, RangePtr* range) {
  CUdeviceptr address = 0;
  const CUresult r = AllocateFromHeap(context, size, RangeKind::kArray, &address);
  if (r == CUDA_SUCCESS) *range = AddressMap::Get().Find(address);
  return r;
}

CUresult AllocateManaged(Context& context, size_t size, unsigned flags, CUdeviceptr* address) {
  char* base = AllocatePages(RoundUp(size, kPage), 0);
  if (base == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Range range = OwnedRange(context, base, size, RangeKind::kManaged, flags);
  range.device = &context.device();
  AddressMap::Get().Insert(std::move(range));
  *address = reinterpret_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}

CUresult AllocateHost(Context& context, size_t size, unsigned flags, void** address) {
  MemoryAccount& account = Driver::Get().host_memory();
  const size_t rounded = RoundUp(size, kPage);
  if (!account.Charge(rounded)) return CUDA_ERROR_OUT_OF_MEMORY;
  char* base = AllocatePages(rounded, 0);
  if (base == nullptr) {
    account.Release(rounded);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Range range = OwnedRange(context, base, size, RangeKind::kHost, flags);
  range.block = {base, RoundUp(size, kGranularity), AddressMap::Get().NewId()};
  AddressMap::Get().Insert(std::move(range));
  *address = base;
  return CUDA_SUCCESS;
}

CUresult RegisterHost(Context& context, void* address, size_t size, unsigned flags) {
  Range range =
      OwnedRange(context, static_cast<char*>(address), size, RangeKind::kRegistered, flags);
  return AddressMap::Get().Insert(std::move(range)) ? CUDA_SUCCESS
                                                    : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

void FreeRange(const Range& range) {
  switch (range.kind) {
    case RangeKind::kDevice:
    case RangeKind::kArray:
      DeviceHeap(*range.device).Free(range.base);
      break;
    case RangeKind::kPool:
      range.pool->heap().Free(range.base);
      break;
    case RangeKind::kManaged:
      ReleaseAddresses(range.base, RoundUp(range.size, kPage));
      break;
    case RangeKind::kHost:
      ReleaseAddresses(range.base, RoundUp(range.size, kPage));
      Driver::Get().host_memory().Release(RoundUp(range.size, kPage));
      break;
    case RangeKind::kExternal:
      ReleaseAddresses(range.block.base, range.block.size);
      break;
    case RangeKind::kRegistered:
    case RangeKind::kReservation:
    case RangeKind::kModule:
      break;
  }
}

CUresult MapImported(Context& context, const PhysicalPtr& memory, size_t offset, size_t size,
                     CUdeviceptr* address) {
  const size_t before = offset % kPage;
  const size_t mapped = RoundUp(before + size, kPage);
  char* base = ReserveAddresses(mapped, kPage, nullptr);
  if (base == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!MapFile(base, mapped, memory->fd(), memory->offset() + offset - before) ||
      !Protect(base, mapped, /*read=*/true, /*write=*/true)) {
    ReleaseAddresses(base, mapped);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Range range = OwnedRange(context, base + before, size, RangeKind::kExternal, 0);
  range.device = Driver::Get().device(memory->prop().location.id);
  range.imported = memory;
  range.block = {base, mapped, AddressMap::Get().NewId()};
  AddressMap::Get().Insert(std::move(range));
  *address = reinterpret_cast<CUdeviceptr>(base + before);
  return CUDA_SUCCESS;
}

void FreeContextMemory(const Context& context) {
  for (const RangePtr& range : AddressMap::Get().RemoveOfContext(context.id())) FreeRange(*range);
}

}  // namespace simcuda::memory
