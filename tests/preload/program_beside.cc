// What libraries do with memory of their own while vramspan is short of device memory: host memory
// that they map themselves, memory that sleeps, and memory that they register or hand out.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/preload/program_calls.h"

namespace {

using Word = unsigned long long;
constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / sizeof(Word);

// So many fill 64 MiB.
constexpr size_t kBuffers = 16;

// Memory of which vramspan has room for half on the device, with words of its own in each buffer.
struct Own {
  explicit Own(Program* program) : p(*program), buffers(kBuffers) {
    p.Start();
    CHECK_OK(p.api.ModuleGetFunction(&copy, p.module, "copy"));
    for (CUdeviceptr& b : buffers) CHECK_OK(p.api.MemAlloc(&b, kBytes));
    for (size_t i = 0; i < kBuffers; ++i) p.Launch(p.fill_hash, buffers[i], kWords, i);
  }
  ~Own() {
    for (const CUdeviceptr b : buffers) CHECK_OK(p.api.MemFree(b));
  }

  void Copy(CUdeviceptr to, CUdeviceptr from) {
    size_t count = kWords;
    void* params[] = {&to, &from, &count};
    CHECK_OK(p.api.LaunchKernel(copy, 16, 1, 1, 64, 1, 1, 0, p.stream, params, nullptr));
  }
  void Add(CUdeviceptr to, Word value) { p.Launch(p.add_constant, to, kWords, value); }
  void Wait() { CHECK_OK(p.api.StreamSynchronize(p.stream)); }
  // Each word is that of the seed, and so much more.
  static void CheckWords(const Word* words, Word seed, Word more) {
    for (size_t w = 0; w < kWords; ++w) {
      if (words[w] == Program::Word(w, seed) + more) continue;
      Fail("word " + std::to_string(w) + " of seed " + std::to_string(seed) + " is wrong");
    }
  }
  void Check(CUdeviceptr at, Word seed, Word more) {
    std::vector<Word> words(kWords);
    CHECK_OK(p.api.MemcpyDtoH(words.data(), at, kBytes));
    CheckWords(words.data(), seed, more);
  }

  Program& p;
  std::vector<CUdeviceptr> buffers;
  CUfunction copy = nullptr;
};

CUmemAllocationProp Properties(CUmemLocation location) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location;
  return properties;
}

void Map(Program* p, CUdeviceptr at, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, p->device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_OK(p->api.MemMap(at, kBytes, 0, handle, 0));
  CHECK_OK(p->api.MemSetAccess(at, kBytes, &access, 1));
}

// Every buffer goes through the memory at `device`, which the host reads at `host`, and comes back
// from there.
void PassThrough(Own* own, CUdeviceptr device, const Word* host) {
  for (Word round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kBuffers; ++i) {
      own->Copy(device, own->buffers[i]);
      own->Add(device, 1);
      own->Wait();
      Own::CheckWords(host, i, round + 1);
      own->Copy(own->buffers[i], device);
    }
  }
  own->Wait();
  for (size_t i = 0; i < kBuffers; ++i) own->Check(own->buffers[i], i, 2);
}

// Where the device makes dma-bufs, plain memory has one; and the buffer's words stay where they
// are.
void AskForDmaBuf(Program* p, CUdeviceptr buffer) {
  int fd = -7, makes = 0;
  CHECK_OK(GET(cuDeviceGetAttribute, "cuDeviceGetAttribute")(
      &makes, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, p->device));
  const CUresult asked =
      p->api.GetRangeHandle(&fd, buffer, kBytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (makes == 0) {
    CHECK(asked == CUDA_ERROR_NOT_SUPPORTED && fd == -7);
  } else {
    CHECK_OK(asked);
    CHECK(close(fd) == 0);
  }
}

}  // namespace

void UseOwnHostMemory(Program* p) {
  Own own(p);
  const CUmemLocation node{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  const CUmemAllocationProp properties = Properties(node);
  size_t granularity = 0;
  CHECK_OK(GET(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity")(
      &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  CHECK(kBytes % granularity == 0);
  CUdeviceptr at = 0;
  CHECK_OK(p->api.MemAddressReserve(&at, 2 * kBytes, 0, 0, 0));
  const CUmemAccessDesc access[] = {
      {{CU_MEM_LOCATION_TYPE_DEVICE, p->device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  // It grows while the rest moves.
  for (size_t piece = 0; piece < 2; ++piece) {
    CUmemGenericAllocationHandle handle = 0;
    CHECK_OK(p->api.MemCreate(&handle, kBytes, &properties, 0));
    CHECK_OK(p->api.MemMap(at + piece * kBytes, kBytes, 0, handle, 0));
    CHECK_OK(p->api.MemSetAccess(at + piece * kBytes, kBytes, access, 2));
    CHECK_OK(p->api.MemRelease(handle));
    for (size_t i = 0; i < kBuffers; ++i) {
      p->Launch(p->fill_hash, own.buffers[i], kWords, i);
    }
    const CUdeviceptr last = at + piece * kBytes;
    PassThrough(&own, last, reinterpret_cast<const Word*>(last));
  }
  // What was there first is as it was left.
  Own::CheckWords(reinterpret_cast<const Word*>(at), kBuffers - 1, 2);
  CHECK_OK(p->api.MemUnmap(at, 2 * kBytes));
  CHECK_OK(p->api.MemAddressFree(at, 2 * kBytes));
}

void SleepAndWake(Program* p) {
  Own own(p);
  CUmemAllocationProp properties = Properties({CU_MEM_LOCATION_TYPE_DEVICE, p->device});
  properties.allocFlags.gpuDirectRDMACapable = 1;
  struct Block {
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle handle = 0;
    void* kept = nullptr;
  };
  std::vector<Block> blocks(kBuffers / 2);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block& b = blocks[i];
    CHECK_OK(p->api.MemAddressReserve(&b.at, kBytes, 0, 0, 0));
    CHECK_OK(p->api.MemCreate(&b.handle, kBytes, &properties, 0));
    Map(p, b.at, b.handle);
    CHECK_OK(p->api.MemHostAlloc(&b.kept, kBytes, 0));
    p->Launch(p->fill_hash, b.at, kWords, 100 + i);
  }
  const auto check = [&](Word more) {
    for (size_t i = 0; i < blocks.size(); ++i) own.Check(blocks[i].at, 100 + i, more);
    for (size_t i = 0; i < kBuffers; ++i) own.Check(own.buffers[i], i, 2 * more);
  };
  const auto work = [&] {
    for (const Block& b : blocks) own.Add(b.at, 1);
    for (const CUdeviceptr b : own.buffers) own.Add(b, 1);
  };
  for (Word night = 0; night < 4; ++night) {
    CHECK_OK(p->api.CtxSynchronize());
    check(night);
    for (Block& b : blocks) {
      CHECK_OK(p->api.MemcpyDtoH(b.kept, b.at, kBytes));
      CHECK_OK(p->api.MemUnmap(b.at, kBytes));
      CHECK_OK(p->api.MemRelease(b.handle));
    }
    // Others use the device meanwhile.
    for (const CUdeviceptr b : own.buffers) own.Add(b, 1);
    for (Block& b : blocks) {
      CHECK_OK(p->api.MemCreate(&b.handle, kBytes, &properties, 0));
      Map(p, b.at, b.handle);
      CHECK_OK(p->api.MemcpyHtoD(b.at, b.kept, kBytes));
    }
    work();
    own.Wait();
    check(night + 1);
  }
  for (const Block& b : blocks) {
    CHECK_OK(p->api.MemUnmap(b.at, kBytes));
    CHECK_OK(p->api.MemRelease(b.handle));
    CHECK_OK(p->api.MemAddressFree(b.at, kBytes));
    CHECK_OK(p->api.MemFreeHost(b.kept));
  }
}

namespace {

// What a pointer says of itself, wherever its memory lies at the time.
struct Attributes {
  unsigned type = 0, legacy_ipc = 0;
  int ordinal = -1;
  Word buffer = 0;
  CUdeviceptr start = 0;
  size_t size = 0;

  static Attributes Of(const Program& p, CUdeviceptr at) {
    Attributes told;
    const auto ask = [&](void* to, CUpointer_attribute attribute) {
      CHECK_OK(p.api.PointerGetAttribute(to, attribute, at));
    };
    ask(&told.type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    ask(&told.legacy_ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
    ask(&told.ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    ask(&told.buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID);
    ask(&told.start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
    ask(&told.size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
    return told;
  }
  bool operator==(const Attributes&) const = default;
};

// Of all buffers, on the device and on the host alike.
void CheckAttributes(const Own& own, const std::vector<Attributes>& before) {
  for (size_t i = 0; i < kBuffers; ++i) {
    const Attributes told = Attributes::Of(own.p, own.buffers[i] + 8 * i);
    CHECK(told == before[i]);
    CHECK(told.type == CU_MEMORYTYPE_DEVICE && told.ordinal == own.p.device);
    CHECK(told.start == own.buffers[i] && told.size == kBytes && told.buffer != 0);
    for (size_t other = 0; other < i; ++other) CHECK(told.buffer != before[other].buffer);
  }
}

}  // namespace

void RegisterAndHandOut(Program* p) {
  Own own(p);
  std::vector<Attributes> told;
  for (const CUdeviceptr b : own.buffers) told.push_back(Attributes::Of(*p, b));
  CheckAttributes(own, told);
  // The host's memory, that a kernel uses.
  void* host = nullptr;
  CHECK(posix_memalign(&host, 4096, kBytes) == 0);
  std::memset(host, 0, kBytes);
  CHECK_OK(GET(cuMemHostRegister, "cuMemHostRegister_v2")(
      host, kBytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr device = 0;
  CHECK_OK(GET(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")(&device, host, 0));
  unsigned type = 0;
  CHECK_OK(p->api.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  CHECK(type == CU_MEMORYTYPE_HOST);
  PassThrough(&own, device, static_cast<const Word*>(host));
  CheckAttributes(own, told);
  // Plain memory has no handle.
  CUmemGenericAllocationHandle none = 7;
  for (const CUdeviceptr b : own.buffers) {
    CHECK(p->api.MemRetain(&none, reinterpret_cast<void*>(b)) == CUDA_ERROR_INVALID_VALUE);
  }
  CHECK(none == 7);
  AskForDmaBuf(p, own.buffers[3]);
  // A buffer that others are to reach, made and handed out while the device is full.
  CUmemAllocationProp properties = Properties({CU_MEM_LOCATION_TYPE_DEVICE, p->device});
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  CUdeviceptr shared = 0, again = 0;
  int fd = -1;
  CHECK_OK(p->api.MemCreate(&handle, kBytes, &properties, 0));
  CHECK_OK(p->api.MemAddressReserve(&shared, kBytes, 0, 0, 0));
  Map(p, shared, handle);
  own.Copy(shared, own.buffers[5]);
  own.Wait();
  CHECK_OK(p->api.MemExport(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK_OK(p->api.MemImport(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CHECK(close(fd) == 0);
  CHECK_OK(p->api.MemAddressReserve(&again, kBytes, 0, 0, 0));
  Map(p, again, imported);
  own.Check(again, 5, 2);
  for (const CUdeviceptr b : own.buffers) own.Add(b, 5);
  own.Add(again, 7);
  own.Wait();
  own.Check(shared, 5, 9);
  for (size_t i = 0; i < kBuffers; ++i) own.Check(own.buffers[i], i, 7);
  CheckAttributes(own, told);
  for (const CUdeviceptr at : {shared, again}) {
    CHECK_OK(p->api.MemUnmap(at, kBytes));
    CHECK_OK(p->api.MemAddressFree(at, kBytes));
  }
  CHECK_OK(p->api.MemRelease(handle));
  CHECK_OK(p->api.MemRelease(imported));
  CHECK_OK(GET(cuMemHostUnregister, "cuMemHostUnregister")(host));
  std::free(host);
}
