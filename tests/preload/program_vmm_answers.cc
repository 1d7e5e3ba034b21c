#include <unistd.h>

#include <cstdio>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSize = 4 * kMiB;
constexpr CUdeviceptr kUntouched = 0x7777;

void Say(const char* what, CUresult result) { std::printf("%s: %d\n", what, result); }

const char* Shown(unsigned long long value) {
  return value == kUntouched ? "untouched" : "written";
}

}  // namespace

void VmmAnswers(Program* p) {
  p->Start();
  const Api& api = p->api;
  // The order in which a program comes to its runtime is its own affair.
  CUdeviceptr plain = 0;
  CHECK_OK(api.MemAlloc(&plain, kSize));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  properties.allocFlags.gpuDirectRDMACapable = 1;

  for (const size_t size : {size_t{0}, kMiB, kSize, size_t{3}, size_t{1} << 60}) {
    CUdeviceptr base = kUntouched;
    const CUresult result = api.MemAddressReserve(&base, size, 0, 0, 0);
    std::printf("reserve %zu: %d %s\n", size, result, Shown(base));
    if (result == CUDA_SUCCESS) {
      Say(" free half", api.MemAddressFree(base, size / 2));
      Say(" free inside", api.MemAddressFree(base + 2 * kMiB, size / 2));
      Say(" free", api.MemAddressFree(base, size));
      Say(" free again", api.MemAddressFree(base, size));
    }
  }
  Say("reserve null", api.MemAddressReserve(nullptr, kSize, 0, 0, 0));
  CUdeviceptr base = kUntouched;
  Say("reserve flags", api.MemAddressReserve(&base, kSize, 0, 0, 1));
  Say("reserve alignment", api.MemAddressReserve(&base, kSize, 3 * kMiB, 0, 0));
  Say("free of plain memory", api.MemAddressFree(plain, kSize));
  CHECK_OK(api.MemAddressReserve(&base, 8 * kSize, 64 * kMiB, 0, 0));
  CHECK(base % (64 * kMiB) == 0);

  CUmemGenericAllocationHandle h = kUntouched, other = 0;
  for (const size_t size : {size_t{0}, kMiB, size_t{3}, size_t{1} << 44}) {
    std::printf("create %zu: %d", size, api.MemCreate(&h, size, &properties, 0));
    std::printf(" %s\n", Shown(h));
  }
  Say("create null", api.MemCreate(nullptr, kSize, &properties, 0));
  Say("create without properties", api.MemCreate(&h, kSize, nullptr, 0));
  Say("create flags", api.MemCreate(&h, kSize, &properties, 1));
  CUmemAllocationProp odd = properties;
  odd.location.id = 77;
  Say("create elsewhere", api.MemCreate(&h, kSize, &odd, 0));
  odd = properties;
  odd.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  Say("create of no type", api.MemCreate(&h, kSize, &odd, 0));
  odd = properties;
  odd.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  Say("create fabric", api.MemCreate(&h, kSize, &odd, 0));
  std::printf("%s\n", Shown(h));
  CHECK_OK(api.MemCreate(&h, kSize, &properties, 0));
  CHECK_OK(api.MemCreate(&other, kSize, &properties, 0));
  CHECK(h != other);

  CUmemAllocationProp told{};
  Say("properties", api.MemProperties(&told, h));
  std::printf(" %d %d %d %d %d\n", told.type, told.location.type, told.location.id,
              told.requestedHandleTypes, told.allocFlags.gpuDirectRDMACapable);
  Say("properties null", api.MemProperties(nullptr, h));
  int fd = -7;
  Say("export", api.MemExport(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  Say("export fabric", api.MemExport(&fd, h, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  Say("export null", api.MemExport(nullptr, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK(fd == -7);

  Say("map part", api.MemMap(base, kSize / 2, 0, h, 0));
  Say("map at an offset", api.MemMap(base, kSize / 2, kSize / 2, h, 0));
  Say("map too much", api.MemMap(base, 2 * kSize, 0, h, 0));
  Say("map nothing", api.MemMap(base, 0, 0, h, 0));
  Say("map flags", api.MemMap(base, kSize, 0, h, 1));
  Say("map odd", api.MemMap(base + kMiB, kSize, 0, h, 0));
  Say("map into plain memory", api.MemMap(plain, kSize, 0, h, 0));
  Say("map no handle", api.MemMap(base, kSize, 0, 0, 0));
  Say("unmap nothing", api.MemUnmap(base, kSize));
  Say("map", api.MemMap(base + kSize, kSize, 0, h, 0));
  Say("map other over it", api.MemMap(base + kSize + 2 * kMiB, kSize, 0, other, 0));
  Say("map other before it", api.MemMap(base + 2 * kMiB, kSize, 0, other, 0));
  Say("map other", api.MemMap(base + 2 * kSize, kSize, 0, other, 0));
  Say("free addresses in use", api.MemAddressFree(base, 8 * kSize));
  Say("free as an allocation", api.MemFree(base));
  Say("free as an allocation, mapped", api.MemFree(base + kSize));

  unsigned long long flags = kUntouched;
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  Say("access before", api.MemGetAccess(&flags, &here, base + kSize));
  std::printf(" %llu\n", flags);
  CUmemAccessDesc access{here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Say("set access of too little", api.MemSetAccess(base + kSize, kMiB * 2, &access, 1));
  Say("set access of too much", api.MemSetAccess(base + kSize, 4 * kSize, &access, 1));
  Say("set access inside", api.MemSetAccess(base + kSize + 2 * kMiB, 2 * kMiB, &access, 1));
  Say("set access of nobody", api.MemSetAccess(base + kSize, kSize, nullptr, 1));
  Say("set access none", api.MemSetAccess(base + kSize, kSize, &access, 0));
  Say("set access of plain memory", api.MemSetAccess(plain, kSize, &access, 1));
  Say("set access", api.MemSetAccess(base + kSize, 2 * kSize, &access, 1));
  Say("access", api.MemGetAccess(&flags, &here, base + kSize + 4096));
  std::printf(" %llu\n", flags);
  flags = kUntouched;
  Say("access where nothing is", api.MemGetAccess(&flags, &here, base));
  std::printf(" %s\n", Shown(flags));
  Say("access of plain memory", api.MemGetAccess(&flags, &here, plain));
  std::printf(" %llu\n", flags);
  Say("access null", api.MemGetAccess(nullptr, &here, base + kSize));

  p->Work({base + kSize, base + 2 * kSize}, kSize, 1);
  p->Launch(p->fill_hash, base + kSize, kSize / 8, 3);
  CHECK_OK(api.StreamSynchronize(p->stream));

  for (const CUdeviceptr at : {base + kSize + 4096, base + 2 * kSize, base, base + 3 * kSize}) {
    CUdeviceptr start = kUntouched;
    size_t size = 7;
    Say("range", api.GetAddressRange(&start, &size, at));
    std::printf(" %lld %zu\n", start > base ? static_cast<long long>(start - base) : -1, size);
    unsigned type = 7;
    Say("type", api.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    std::printf(" %u\n", type);
  }
  CUipcMemHandle legacy;
  Say("legacy handle", api.IpcGetMemHandle(&legacy, base + kSize));
  Say("dma-buf",
      api.GetRangeHandle(&fd, base + kSize, 2 * kSize, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  Say("dma-buf of plain memory",
      api.GetRangeHandle(&fd, plain, kSize, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));

  Say("unmap part", api.MemUnmap(base + kSize, 2 * kMiB));
  Say("unmap inside", api.MemUnmap(base + kSize + 2 * kMiB, 2 * kMiB));
  Say("unmap no bytes", api.MemUnmap(base + kSize, 0));
  Say("unmap plain memory", api.MemUnmap(plain, kSize));

  // Contents stay while a handle or a mapping does.
  unsigned long long word = 0;
  Say("unmap", api.MemUnmap(base + kSize, kSize));
  Say("map elsewhere", api.MemMap(base + 4 * kSize, kSize, 0, h, 0));
  Say("set access there", api.MemSetAccess(base + 4 * kSize, kSize, &access, 1));
  CHECK_OK(api.MemcpyDtoH(&word, base + 4 * kSize + 800, sizeof(word)));
  std::printf(" %llu\n", word);
  Say("release", api.MemRelease(h));
  CHECK_OK(api.MemcpyDtoH(&word, base + 4 * kSize + 1600, sizeof(word)));
  std::printf(" %llu\n", word);
  CUmemGenericAllocationHandle again = kUntouched;
  Say("retain", api.MemRetain(&again, reinterpret_cast<void*>(base + 4 * kSize + 4096)));
  Say("retain more", api.MemRetain(&again, reinterpret_cast<void*>(base + 4 * kSize)));
  CUmemGenericAllocationHandle none = kUntouched;
  Say("retain where nothing is", api.MemRetain(&none, reinterpret_cast<void*>(base)));
  Say("retain plain memory", api.MemRetain(&none, reinterpret_cast<void*>(plain)));
  Say("retain null", api.MemRetain(nullptr, reinterpret_cast<void*>(base + 4 * kSize)));
  std::printf(" %s\n", Shown(none));
  Say("release one", api.MemRelease(again));
  Say("unmap the last", api.MemUnmap(base + 4 * kSize, kSize));
  Say("map once more", api.MemMap(base, kSize, 0, again, 0));
  Say("set access once more", api.MemSetAccess(base, kSize, &access, 1));
  CHECK_OK(api.MemcpyDtoH(&word, base + 2400, sizeof(word)));
  std::printf(" %llu\n", word);

  // What is not plain: mapped twice, and access to read only.
  Say("map twice", api.MemMap(base + 6 * kSize, kSize, 0, again, 0));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  Say("set access to read", api.MemSetAccess(base + 6 * kSize, kSize, &access, 1));
  CHECK_OK(api.MemcpyDtoH(&word, base + 6 * kSize + 2400, sizeof(word)));
  std::printf(" %llu\n", word);
  Say("access to read", api.MemGetAccess(&flags, &here, base + 6 * kSize));
  std::printf(" %llu\n", flags);
  access.location.id = 77;
  Say("set access for nobody there", api.MemSetAccess(base + 2 * kSize, kSize, &access, 1));
  access.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  Say("set access for the host", api.MemSetAccess(base + 2 * kSize, kSize, &access, 1));

  Say("release the last", api.MemRelease(again));
  Say("release once too often", api.MemRelease(again));
  Say("release no handle", api.MemRelease(0));
  Say("map released", api.MemMap(base + 5 * kSize, kSize, 0, again, 0));
  Say("properties of released", api.MemProperties(&told, again));
  Say("unmap both", api.MemUnmap(base, kSize));
  Say("unmap both", api.MemUnmap(base + 6 * kSize, kSize));
  Say("unmap other", api.MemUnmap(base + 2 * kSize, kSize));
  Say("unmap other again", api.MemUnmap(base + 2 * kSize, kSize));
  Say("map other again", api.MemMap(base + 3 * kSize, kSize, 0, other, 0));
  Say("unmap into it", api.MemUnmap(base, 3 * kSize + 2 * kMiB));
  Say("unmap out of it", api.MemUnmap(base + 3 * kSize + 2 * kMiB, kSize));
  Say("access still", api.MemGetAccess(&flags, &here, base + 3 * kSize));
  Say("unmap it and gaps", api.MemUnmap(base + kSize, 5 * kSize));
  Say("access no more", api.MemGetAccess(&flags, &here, base + 3 * kSize));
  Say("release other", api.MemRelease(other));
  Say("free addresses", api.MemAddressFree(base, 8 * kSize));
  Say("free addresses again", api.MemAddressFree(base, 8 * kSize));

  // Into addresses that are the driver's: a fixed address is asked for.
  CUdeviceptr fixed = 0;
  CHECK_OK(api.MemAddressReserve(&fixed, kSize, 0, CUdeviceptr{0x3} << 44, 0));
  CHECK_OK(api.MemCreate(&h, kSize, &properties, 0));
  Say("map at fixed", api.MemMap(fixed, kSize, 0, h, 0));
  access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Say("set access at fixed", api.MemSetAccess(fixed, kSize, &access, 1));
  p->Work({fixed}, kSize, 1);
  Say("release at fixed", api.MemRelease(h));
  Say("unmap at fixed", api.MemUnmap(fixed, kSize));
  Say("free fixed", api.MemAddressFree(fixed, kSize));
  Say("free plain", api.MemFree(plain));
}

void VmmRefused(Program* p) {
  p->Start();
  const Api& api = p->api;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  CUdeviceptr base = 0;
  CHECK_OK(api.MemAddressReserve(&base, 2 * kSize, 0, 0, 0));
  CUmemGenericAllocationHandle h = 0;
  CHECK_OK(api.MemCreate(&h, kSize, &properties, 0));
  Say("map beyond", api.MemMap(base + kSize + 2 * kMiB, kSize, 0, h, 0));
  CHECK_OK(api.MemMap(base, kSize, 0, h, 0));
  CHECK_OK(api.MemRelease(h));
  Say("map released", api.MemMap(base + kSize, kSize, 0, h, 0));
  Say("properties of released", api.MemProperties(&properties, h));
  Say("unmap beyond", api.MemUnmap(base + kSize, 2 * kSize));
}
