#include <unistd.h>

#include "tests/preload/program_scenarios.h"
#include "tools/simcuda/config.h"

namespace {

constexpr size_t kSize = size_t{4} << 20;

CUmemAllocationProp On(CUmemLocationType type, int id) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {type, id};
  return properties;
}

}  // namespace

void VmmNewer(Program* p) {
  p->Start();
  const Api& api = p->api;
  CUdeviceptr plain = 0;
  CHECK_OK(api.MemAlloc(&plain, kSize));
  const CUmemLocation newer = {static_cast<CUmemLocationType>(simcuda::kNewerLocation), p->device};
  const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  const auto properties = On(CU_MEM_LOCATION_TYPE_DEVICE, p->device);
  const CUmemAccessDesc both[] = {{newer, CU_MEM_ACCESS_FLAGS_PROT_READ},
                                  {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};

  CUdeviceptr base = 0;
  CHECK_OK(api.MemAddressReserve(&base, 4 * kSize, 0, 0, 0));
  CUmemGenericAllocationHandle made_elsewhere = 0, made_by_flag = 0, mapped_by_flag = 0, opened = 0;
  const auto elsewhere = On(newer.type, newer.id);
  CHECK_OK(api.MemCreate(&made_elsewhere, kSize, &elsewhere, 0));
  CHECK_OK(api.MemCreate(&made_by_flag, kSize, &properties, simcuda::kNewerFlag));
  CHECK_OK(api.MemCreate(&mapped_by_flag, kSize, &properties, 0));
  CHECK_OK(api.MemCreate(&opened, kSize, &properties, 0));
  CHECK_OK(api.MemMap(base, kSize, 0, made_elsewhere, 0));
  CHECK_OK(api.MemMap(base + kSize, kSize, 0, made_by_flag, 0));
  CHECK_OK(api.MemMap(base + 2 * kSize, kSize, 0, mapped_by_flag, simcuda::kNewerFlag));
  CHECK_OK(api.MemMap(base + 3 * kSize, kSize, 0, opened, 0));
  CHECK_OK(api.MemSetAccess(base, 4 * kSize, both, 2));
  p->Work({plain, base, base + kSize, base + 2 * kSize, base + 3 * kSize}, kSize, 2);

  // Who has access keeps it when the memory becomes the driver's, by whatever kind it is known.
  int fd = -1;
  const auto shareable = [&] {
    auto asked = properties;
    asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return asked;
  }();
  CUdeviceptr other = 0;
  CUmemGenericAllocationHandle exported = 0;
  CHECK_OK(api.MemAddressReserve(&other, 2 * kSize, 0, 0, 0));
  CHECK_OK(api.MemCreate(&exported, kSize, &shareable, 0));
  CHECK_OK(api.MemMap(other, kSize, 0, exported, 0));
  CHECK_OK(api.MemSetAccess(other, kSize, both, 2));
  CHECK_OK(
      api.MemExport(&fd, exported, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, simcuda::kNewerFlag));
  close(fd);
  for (const CUdeviceptr at : {base + 3 * kSize, other}) {
    unsigned long long flags = 0;
    CHECK_OK(api.MemGetAccess(&flags, &here, at));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK_OK(api.MemGetAccess(&flags, &newer, at));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
  }
  p->Work({plain, other, base + 3 * kSize}, kSize, 2);
  CHECK_OK(api.MemUnmap(other, kSize));
  CHECK_OK(api.MemUnmap(base, 4 * kSize));
  for (const auto h : {made_elsewhere, made_by_flag, mapped_by_flag, opened, exported}) {
    CHECK_OK(api.MemRelease(h));
  }
  CHECK_OK(api.MemAddressFree(other, 2 * kSize));
  CHECK_OK(api.MemAddressFree(base, 4 * kSize));
  CHECK_OK(api.MemFree(plain));
}
