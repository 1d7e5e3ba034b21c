// Device memory that is not for vramspan to move, made while the device is full: arrays, and memory
// of another API. stderr says when it goes.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/preload/program_calls.h"

namespace {

struct Foreign {
#define FOREIGN_CALLS(X)                                            \
  X(ArrayCreate, cuArrayCreate_v2)                                  \
  X(Array3DCreate, cuArray3DCreate_v2)                              \
  X(ArrayDestroy, cuArrayDestroy)                                   \
  X(MipmappedArrayCreate, cuMipmappedArrayCreate)                   \
  X(MipmappedArrayGetLevel, cuMipmappedArrayGetLevel)               \
  X(MipmappedArrayDestroy, cuMipmappedArrayDestroy)                 \
  X(Memcpy3D, cuMemcpy3D_v2)                                        \
  X(ImportExternalMemory, cuImportExternalMemory)                   \
  X(ExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer) \
  X(DestroyExternalMemory, cuDestroyExternalMemory)
#define X(field, symbol) decltype(&::symbol) field = nullptr;
  FOREIGN_CALLS(X)
#undef X
};

Foreign OpenForeign() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  Foreign f;
#define X(field, symbol)                                                 \
  f.field = reinterpret_cast<decltype(f.field)>(dlsym(driver, #symbol)); \
  CHECK(f.field != nullptr);
  FOREIGN_CALLS(X)
#undef X
  return f;
}

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWidth = 1024;
constexpr size_t kRow = kWidth * 4;  // Bytes of floats.

// The device's memory twice over, so that all of it is taken.
struct Full {
  explicit Full(Program* program) : p(program) {
    p->Start();
    size_t free = 0, total = 0;
    CHECK_OK(p->api.MemGetInfo(&free, &total));
    buffers.resize(2 * total / kBytes);
    for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
    rows = total / 4 / kBytes * kBytes / kRow;
  }
  // All that is vramspan's is as it was beside the other memory.
  void Work() const { p->Work(buffers, kBytes, 1); }
  static void Goes() { std::fputs("program: it goes\n", stderr); }

  Program* const p;
  std::vector<CUdeviceptr> buffers;
  size_t rows = 0;  // So many take a quarter of the device.
};

// Writes to all of the array, has vramspan work, and reads it again.
void UseArray(const Full& full, const Foreign& f, CUarray array) {
  std::vector<unsigned> in(full.rows * kWidth), out(in.size());
  std::iota(in.begin(), in.end(), 7u);
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = kRow;
  copy.Height = full.rows;
  copy.Depth = 1;
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  CHECK_OK(f.Memcpy3D(&copy));
  full.Work();
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out.data();
  CHECK_OK(f.Memcpy3D(&copy));
  CHECK(in == out);
}

// Of as many thirds of a quarter of the device.
void UseFlatArray(Program* p, size_t twelfths) {
  Full full(p);
  full.rows = full.rows / 3 * twelfths;
  const Foreign f = OpenForeign();
  const CUDA_ARRAY_DESCRIPTOR d{kWidth, full.rows, CU_AD_FORMAT_FLOAT, 1};
  CUarray array = nullptr;
  CHECK_OK(f.ArrayCreate(&array, &d));
  UseArray(full, f, array);
  Full::Goes();
  CHECK_OK(f.ArrayDestroy(array));
}

void UseDeepArray(Program* p) {
  const Full full(p);
  const Foreign f = OpenForeign();
  const CUDA_ARRAY3D_DESCRIPTOR d{kWidth, full.rows, 1, CU_AD_FORMAT_FLOAT, 1, 0};
  CUarray array = nullptr;
  CHECK_OK(f.Array3DCreate(&array, &d));
  UseArray(full, f, array);
  Full::Goes();
  CHECK_OK(f.ArrayDestroy(array));
}

void UseMipmappedArray(Program* p) {
  const Full full(p);
  const Foreign f = OpenForeign();
  const CUDA_ARRAY3D_DESCRIPTOR d{kWidth, full.rows, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmapped = nullptr;
  CHECK_OK(f.MipmappedArrayCreate(&mipmapped, &d, 3));
  CUarray level = nullptr;
  CHECK_OK(f.MipmappedArrayGetLevel(&level, mipmapped, 0));
  UseArray(full, f, level);
  Full::Goes();
  CHECK_OK(f.MipmappedArrayDestroy(mipmapped));
}

// More than there can be is refused, and nothing is written.
void AskForTooMuch(Program* p) {
  const Full full(p);
  const Foreign f = OpenForeign();
  const CUDA_ARRAY3D_DESCRIPTOR d{kWidth, 16 * full.rows, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  const auto untouched = reinterpret_cast<CUarray>(7);
  CUarray array = untouched;
  CHECK(f.Array3DCreate(&array, &d) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(array == untouched);
  full.Work();
}

// Memory that is made to be exported stands for what another API would have.
struct Exported {
  // By default of a kind that is not for vramspan.
  Exported(Program* p, size_t bytes, unsigned short usage = CU_MEM_CREATE_USAGE_TILE_POOL) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.allocFlags.usage = usage;
    CHECK_OK(p->api.MemCreate(&handle, bytes, &properties, 0));
    descriptor.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    descriptor.size = bytes;
    CHECK_OK(p->api.MemExport(&descriptor.handle.fd, handle,
                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  }
  CUmemGenericAllocationHandle handle = 0;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC descriptor{};
};

// It lasts as long as what was imported does; until then none of the device's memory comes back.
void UseExternalMemory(Program* p) {
  const Full full(p);
  const Foreign f = OpenForeign();
  const size_t size = full.rows * kRow;
  const Exported exported(p, size);
  CUexternalMemory memory = nullptr;
  CHECK_OK(f.ImportExternalMemory(&memory, &exported.descriptor));
  CHECK_OK(p->api.MemRelease(exported.handle));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole{};
  whole.size = size;
  CUdeviceptr buffer = 0;
  CHECK_OK(f.ExternalMemoryGetMappedBuffer(&buffer, memory, &whole));
  p->Launch(p->fill_hash, buffer, size / 8, 9);
  full.Work();
  std::vector<unsigned long long> back(size / 8);
  CHECK_OK(p->api.MemcpyDtoH(back.data(), buffer, size));
  for (size_t i = 0; i < back.size(); ++i) CHECK(back[i] == Program::Word(i, 9));
  CHECK_OK(p->api.MemFree(buffer));
  Full::Goes();
  CHECK_OK(f.DestroyExternalMemory(memory));
}

// Others have the memory already, but the driver needs some of its own to take it over.
void ImportWhenFull(Program* p) {
  CHECK_OK(p->api.Init(0));
  CHECK_OK(p->api.PrimaryRetain(&p->context, p->device));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  const Exported exported(p, kBytes);
  const Full full(p);
  const Foreign f = OpenForeign();
  CUexternalMemory memory = nullptr;
  CHECK_OK(f.ImportExternalMemory(&memory, &exported.descriptor));
  full.Work();
  CHECK_OK(f.DestroyExternalMemory(memory));
}

// Memory that vramspan would have moved, had the program not exported it, or mapped it where it may
// be exported.
void ReleaseWhatWasExported(Program* p) {
  const Full full(p);
  Exported exported(p, full.rows * kRow, 0);
  CHECK(close(exported.descriptor.handle.fd) == 0);
  full.Work();
  Full::Goes();
  CHECK_OK(p->api.MemRelease(exported.handle));
}

void UnmapWhatWasReleased(Program* p) {
  const Full full(p);
  const size_t size = full.rows * kRow;
  const Exported exported(p, size, 0);
  CHECK(close(exported.descriptor.handle.fd) == 0);
  CUdeviceptr at = 0;
  CHECK_OK(p->api.MemAddressReserve(&at, size, 0, 0, 0));
  CHECK_OK(p->api.MemMap(at, size, 0, exported.handle, 0));
  CHECK_OK(p->api.MemRelease(exported.handle));
  full.Work();
  Full::Goes();
  CHECK_OK(p->api.MemUnmap(at, size));
}

// What is only counted, by sizes that tell the calls apart.
void BeginUntracked(Program* p) {
  p->Start();
  void* host = nullptr;
  CHECK_OK(GET(cuMemAllocHost, "cuMemAllocHost_v2")(&host, size_t{1} << 20));
  CHECK_OK(p->api.MemFreeHost(host));
  CHECK_OK(GET(cuMemHostAlloc, "cuMemHostAlloc")(&host, size_t{2} << 20, 0));
  CHECK_OK(p->api.MemFreeHost(host));
  std::vector<char> own(size_t{8} << 20);
  void* const page =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(own.data()) + 4095) & ~uintptr_t{4095});
  CHECK_OK(GET(cuMemHostRegister, "cuMemHostRegister_v2")(page, size_t{4} << 20, 0));
  CHECK_OK(GET(cuMemHostUnregister, "cuMemHostUnregister")(page));
  CUdeviceptr managed = 0;
  CHECK_OK(p->api.MemAllocManaged(&managed, size_t{8} << 20, CU_MEM_ATTACH_GLOBAL));
  CHECK_OK(p->api.MemFree(managed));
  CHECK_OK(p->api.MemAlloc(&managed, 4096));  // So that there is a runtime to tell of it.
  CHECK_OK(p->api.MemFree(managed));
}

// Memory of more than the device has cannot be pinned to be handed to another device.
void HandOutTooMuch(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  CUdeviceptr memory = 0;
  const size_t size = 2 * total / kBytes * kBytes;
  CHECK_OK(p->api.MemAlloc(&memory, size));
  int fd = -1;
  CHECK(p->api.GetRangeHandle(&fd, memory, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) ==
        CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(p->api.GetRangeHandle(&fd, memory, kBytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) ==
        CUDA_ERROR_NOT_SUPPORTED);
  p->Work({memory}, size, 1);
  CHECK_OK(p->api.MemFree(memory));
}

// Multicast objects are the driver's affair, and there are none here: it is asked with handles and
// memory that it knows.
void BindToMulticast(Program* p) {
  p->Start();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  CUmemGenericAllocationHandle first = 0, second = 0;
  CHECK_OK(p->api.MemCreate(&first, kBytes, &properties, 0));
  CHECK_OK(p->api.MemCreate(&second, kBytes, &properties, 0));
  CUdeviceptr at = 0;
  CHECK_OK(p->api.MemAddressReserve(&at, kBytes, 0, 0, 0));
  CHECK_OK(p->api.MemMap(at, kBytes, 0, second, 0));
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, p->device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_OK(p->api.MemSetAccess(at, kBytes, &access, 1));
  CHECK(GET(cuMulticastBindMem, "cuMulticastBindMem")(7, 0, first, 0, kBytes, 0) ==
        CUDA_ERROR_NOT_SUPPORTED);
  CHECK(GET(cuMulticastBindAddr, "cuMulticastBindAddr")(7, 0, at, kBytes, 0) ==
        CUDA_ERROR_NOT_SUPPORTED);
  CHECK_OK(p->api.MemUnmap(at, kBytes));
  CHECK_OK(p->api.MemAddressFree(at, kBytes));
  CHECK_OK(p->api.MemRelease(first));
  CHECK_OK(p->api.MemRelease(second));
}

}  // namespace

void UseForeign(Program* p, const std::string& kind) {
  if (kind == "flat") return UseFlatArray(p, 3);
  if (kind == "large") return UseFlatArray(p, 7);
  if (kind == "deep") return UseDeepArray(p);
  if (kind == "mipmapped") return UseMipmappedArray(p);
  if (kind == "too_much") return AskForTooMuch(p);
  if (kind == "external") return UseExternalMemory(p);
  if (kind == "import") return ImportWhenFull(p);
  if (kind == "exported") return ReleaseWhatWasExported(p);
  if (kind == "mapped") return UnmapWhatWasReleased(p);
  if (kind == "passed_by") return BeginUntracked(p);
  if (kind == "handed_out") return HandOutTooMuch(p);
  if (kind == "multicast") return BindToMulticast(p);
  Fail("no kind " + kind);
}
