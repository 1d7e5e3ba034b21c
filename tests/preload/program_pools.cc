// Stream-ordered memory. Lines say only what must be the same with vramspan.
#include <dlfcn.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

// By their names with the suffix of the kind of default stream, where they have one.
#define POOL_CALLS(X)                                      \
  X(MemAllocAsync, cuMemAllocAsync, _ptsz)                 \
  X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, _ptsz) \
  X(MemFreeAsync, cuMemFreeAsync, _ptsz)                   \
  X(StreamBeginCapture, cuStreamBeginCapture_v2, _ptsz)    \
  X(StreamEndCapture, cuStreamEndCapture, _ptsz)           \
  X(StreamQuery, cuStreamQuery, _ptsz)                     \
  X(GraphDestroy, cuGraphDestroy, )                        \
  X(MemPoolCreate, cuMemPoolCreate, )                      \
  X(MemPoolDestroy, cuMemPoolDestroy, )                    \
  X(MemPoolTrimTo, cuMemPoolTrimTo, )                      \
  X(MemPoolSetAttribute, cuMemPoolSetAttribute, )          \
  X(MemPoolGetAttribute, cuMemPoolGetAttribute, )          \
  X(MemPoolSetAccess, cuMemPoolSetAccess, )                \
  X(MemPoolGetAccess, cuMemPoolGetAccess, )                \
  X(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, )  \
  X(DeviceGetMemPool, cuDeviceGetMemPool, )                \
  X(DeviceSetMemPool, cuDeviceSetMemPool, )                \
  X(PointerGetAttribute, cuPointerGetAttribute, )          \
  X(MemGetAddressRange, cuMemGetAddressRange_v2, )

struct Pools {
#define X(field, symbol, suffix) decltype(&::symbol) field = nullptr;
  POOL_CALLS(X)
#undef X
};

Pools OpenPools(bool per_thread) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  Pools pools;
#define X(field, symbol, suffix)                              \
  pools.field = reinterpret_cast<decltype(pools.field)>(      \
      dlsym(driver, per_thread ? #symbol #suffix : #symbol)); \
  CHECK(pools.field != nullptr);
  POOL_CALLS(X)
#undef X
  return pools;
}

constexpr size_t kMiB = size_t{1} << 20;
constexpr CUdeviceptr kUntouched = 0x7777;

class Asker {
 public:
  explicit Asker(const Pools& q) : q_(q) {}

  unsigned long long Attribute(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    CHECK_OK(q_.MemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  void Show(const char* when, CUmemoryPool pool) {
    const auto used = Attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    const auto used_high = Attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    const auto reserved = Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    const auto reserved_high = Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    std::printf("%s: used %llu, at most %llu; reserved %llu\n", when, used / kMiB, used_high / kMiB,
                reserved / kMiB);
    // Not a failure: after cuMemFree of memory of a pool a real driver's numbers do not agree.
    if (used <= used_high && used <= reserved && reserved <= reserved_high) return;
    std::printf(" do not agree: used %llu, at most %llu; reserved %llu, at most %llu bytes\n", used,
                used_high, reserved, reserved_high);
  }
  CUdeviceptr Allocate(size_t size, CUmemoryPool pool, CUstream stream) {
    CUdeviceptr m = 0;
    CHECK_OK(pool != nullptr ? q_.MemAllocFromPoolAsync(&m, size, pool, stream)
                             : q_.MemAllocAsync(&m, size, stream));
    CHECK(m % 256 == 0);
    return m;
  }
  // What is asked of a pointer into memory of a pool.
  void Pointer(const char* what, CUdeviceptr m, CUmemoryPool pool) {
    CUmemoryPool found = nullptr;
    const CUresult result =
        q_.PointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, m + 5);
    CUdeviceptr base = 0;
    size_t size = 0;
    const CUresult range = q_.MemGetAddressRange(&base, &size, m + 5);
    std::printf("%s: pool %d %d, range %d %d %zu\n", what, result, found == pool, range, base == m,
                size);
  }

 private:
  const Pools& q_;
};

CUmemPoolProps PropsOf(const Program& p) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, p.device};
  return props;
}

void AskOfAll(Program* p, const Pools& q, CUmemoryPool pool) {
  Asker ask(q);
  const CUstream stream = p->stream;
  CUdeviceptr m = kUntouched;
  std::printf("null: %d\n", q.MemAllocAsync(nullptr, 64, stream));
  const CUresult result = q.MemAllocAsync(&m, 0, stream);
  std::printf("of 0 bytes: %d %d\n", result, m == 0);
  // Whether this writes is the driver's affair; vramspan does not (ChurnPools).
  std::printf("too much: %d\n", q.MemAllocAsync(&m, size_t{1} << 50, stream));
  std::printf("free: %d %d %d\n", q.MemFreeAsync(0, stream), q.MemFreeAsync(0x1234500, stream),
              q.MemAllocFromPoolAsync(&m, 64, nullptr, stream));
  ask.Show("at first", pool);
  const CUdeviceptr a = ask.Allocate(4 * kMiB, pool, stream);
  const CUdeviceptr b = ask.Allocate(6 * kMiB, pool, stream);
  ask.Show("two", pool);
  // Within a step nothing changes but what is in use (CuPy relies on it).
  const unsigned long long reserved = ask.Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  const CUdeviceptr within = ask.Allocate(512, pool, stream);
  CHECK(ask.Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == reserved);
  CHECK_OK(q.MemFreeAsync(within, stream));
  CHECK(ask.Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == reserved);
  ask.Pointer("a", a, pool);
  std::printf("inside: %d\n", q.MemFreeAsync(a + 512, stream));
  CHECK_OK(q.MemFreeAsync(a, stream));
  std::printf("again: %d %d\n", q.MemFreeAsync(a, stream), p->api.MemFree(a));
  ask.Pointer("freed", a, nullptr);
  CHECK_OK(p->api.StreamSynchronize(stream));
  ask.Show("one", pool);
  cuuint64_t zero = 0, one = 1;
  std::printf("reset: %d %d\n", q.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero),
              q.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
  ask.Show("reset", pool);
  CHECK_OK(p->api.MemFree(b));
  ask.Show("none", pool);
  // Kept, until it is trimmed.
  cuuint64_t all = ~cuuint64_t{0};
  CHECK_OK(q.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  const CUdeviceptr c = ask.Allocate(8 * kMiB, pool, stream);
  CHECK_OK(q.MemFreeAsync(c, stream));
  CHECK_OK(p->api.StreamSynchronize(stream));
  ask.Show("kept", pool);
  CHECK_OK(q.MemPoolTrimTo(pool, 0));
  ask.Show("trimmed", pool);
  CHECK_OK(q.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
  std::printf("threshold: %llu\n", ask.Attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  CUgraph graph = nullptr;
  CHECK_OK(q.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  std::printf("captured: %d\n", q.MemAllocAsync(&m, 64, stream));
  std::printf("end: %d\n", q.StreamEndCapture(stream, &graph));
  if (graph != nullptr) CHECK_OK(q.GraphDestroy(graph));
}

}  // namespace

void AskPools(Program* p, bool per_thread) {
  const Pools q = OpenPools(per_thread);
  p->Start();
  CUmemoryPool preset = nullptr, current = nullptr, mine = nullptr;
  CHECK_OK(q.DeviceGetDefaultMemPool(&preset, p->device));
  AskOfAll(p, q, preset);
  CUmemPoolProps props = PropsOf(*p);
  CHECK_OK(q.MemPoolCreate(&mine, &props));
  AskOfAll(p, q, mine);
  CHECK_OK(q.DeviceSetMemPool(p->device, mine));
  CHECK_OK(q.DeviceGetMemPool(&current, p->device));
  std::printf("current: %d\n", current == mine);
  Asker ask(q);
  const CUdeviceptr a = ask.Allocate(2 * kMiB, nullptr, nullptr);
  ask.Pointer("of the current", a, mine);
  CHECK_OK(q.DeviceSetMemPool(p->device, preset));
  const CUdeviceptr b = ask.Allocate(2 * kMiB, nullptr, nullptr);
  ask.Pointer("of the default", b, preset);
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, p->device},
                         CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  std::printf("access: %d", q.MemPoolSetAccess(mine, &access, 1));
  std::printf(" %d", q.MemPoolGetAccess(&flags, mine, &access.location));
  std::printf(" %d\n", flags);
  // What was allocated outlives its pool.
  CHECK_OK(q.MemPoolDestroy(mine));
  p->Work({a, b}, 2 * kMiB, 1);
  CHECK_OK(q.MemFreeAsync(a, nullptr));
  CHECK_OK(q.MemFreeAsync(b, p->stream));
  CHECK_OK(p->api.CtxSynchronize());
  CUmemoryPool refused = nullptr;
  props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  std::printf("refused: %d\n", q.MemPoolCreate(&refused, &props));
}

// Memory that comes and goes in two streams, more of it than the device has: every buffer's words
// are right when its stream is done with it, although others took its place.
void ChurnPools(Program* p, bool per_thread) {
  const Pools q = OpenPools(per_thread);
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  Asker ask(q);
  constexpr size_t kBytes = 4 * kMiB;
  constexpr size_t kWords = kBytes / sizeof(unsigned long long);
  Program other = *p;
  CHECK_OK(other.api.StreamCreate(&other.stream, CU_STREAM_NON_BLOCKING));
  Program* const users[] = {p, &other};
  const size_t count = total / kBytes;
  void* host = nullptr;
  CHECK_OK(p->api.MemHostAlloc(&host, 2 * 64 * sizeof(unsigned long long), 0));
  const auto* last = static_cast<const volatile unsigned long long*>(host);
  std::set<CUdeviceptr> seen;
  for (unsigned long long round = 0; round < 64; ++round) {
    for (size_t u = 0; u < 2; ++u) {
      Program* const user = users[u];
      const CUdeviceptr m = ask.Allocate(kBytes, nullptr, user->stream);
      seen.insert(m);
      user->Launch(user->fill_hash, m, kWords, 2 * round + u);
      for (int i = 0; i < 3; ++i) user->Launch(user->add_constant, m, kWords, 1);
      CHECK_OK(p->api.MemcpyDtoHAsync(static_cast<unsigned long long*>(host) + 2 * round + u,
                                      m + (kWords - 1) * sizeof(unsigned long long),
                                      sizeof(unsigned long long), user->stream));
      CHECK_OK(q.MemFreeAsync(m, user->stream));
    }
  }
  // Freed memory is handed out again at once in its stream, before the GPU has got there.
  CHECK(seen.size() <= 16);
  for (Program* user : users) CHECK_OK(p->api.StreamSynchronize(user->stream));
  for (unsigned long long i = 0; i < 128; ++i) {
    if (last[i] != Program::Word(kWords - 1, i) + 3) Fail("round " + std::to_string(i));
  }
  // Then twice what the device has, all of it alive.
  std::vector<CUdeviceptr> buffers;
  for (size_t i = 0; i < 2 * count; ++i) {
    buffers.push_back(ask.Allocate(kBytes, nullptr, users[i % 2]->stream));
  }
  for (Program* user : users) CHECK_OK(p->api.StreamSynchronize(user->stream));
  p->Work(buffers, kBytes, 2);
  for (size_t i = 0; i < buffers.size(); ++i) {
    CHECK_OK(q.MemFreeAsync(buffers[i], users[i % 2]->stream));
  }
  CHECK_OK(p->api.CtxSynchronize());
  CUdeviceptr none = kUntouched;
  CHECK(q.MemAllocAsync(&none, size_t{1} << 50, p->stream) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(none == kUntouched);
  p->WorkBeyondMemory(kBytes);
  CHECK_OK(p->api.MemFreeHost(host));
}

// Freed memory is nobody else's before its stream is done with it.
void PoolsKeepOrder(Program* p, bool per_thread) {
  const Pools q = OpenPools(per_thread);
  p->Start();
  Asker ask(q);
  constexpr size_t kBytes = 4 * kMiB;
  constexpr size_t kWords = kBytes / sizeof(unsigned long long);
  Program other = *p;
  CHECK_OK(other.api.StreamCreate(&other.stream, CU_STREAM_NON_BLOCKING));
  int busy = 0;
  for (int round = 0; round < 6; ++round) {
    const CUdeviceptr m = ask.Allocate(kBytes, nullptr, p->stream);
    for (int i = 0; i < 10; ++i) p->Launch(p->add_constant, m, kWords, 1);
    CHECK_OK(q.MemFreeAsync(m, p->stream));
    const CUdeviceptr theirs = ask.Allocate(kBytes, nullptr, other.stream);
    if (q.StreamQuery(p->stream) == CUDA_ERROR_NOT_READY) {
      ++busy;
      CHECK(theirs != m);
    }
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    CHECK_OK(q.MemFreeAsync(theirs, other.stream));
    CHECK_OK(p->api.StreamSynchronize(other.stream));
  }
  CHECK(busy > 0);
  // A stream that has the handle of one that is gone is another stream.
  for (int round = 0; round < 5; ++round) {
    Program brief = *p;
    CHECK_OK(brief.api.StreamCreate(&brief.stream, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr m = ask.Allocate(kBytes, nullptr, brief.stream);
    for (int i = 0; i < 10; ++i) brief.Launch(brief.add_constant, m, kWords, 1);
    CHECK_OK(q.MemFreeAsync(m, brief.stream));
    CHECK_OK(p->api.StreamDestroy(brief.stream));
  }
  CHECK_OK(p->api.CtxSynchronize());
  CUmemoryPool pool = nullptr;
  CHECK_OK(q.DeviceGetDefaultMemPool(&pool, p->device));
  CHECK(ask.Attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
}

// A pool of the program's own holds more than the device, until it is opened to another device:
// then its memory is the driver's.
void OwnPool(Program* p, bool per_thread) {
  const Pools q = OpenPools(per_thread);
  p->Start();
  size_t free = 0, total = 0;
  CUdeviceptr first = 0;
  CHECK_OK(p->api.MemAlloc(&first, kMiB));
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  constexpr size_t kBytes = 4 * kMiB;
  Asker ask(q);
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props = PropsOf(*p);
  CHECK_OK(q.MemPoolCreate(&pool, &props));
  std::vector<CUdeviceptr> buffers;
  for (size_t i = 0; i < 2 * total / kBytes; ++i) {
    buffers.push_back(ask.Allocate(kBytes, pool, p->stream));
  }
  p->Work(buffers, kBytes, 1);
  // What it keeps goes with it.
  cuuint64_t all = ~cuuint64_t{0};
  CHECK_OK(q.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  for (const CUdeviceptr b : buffers) CHECK_OK(q.MemFreeAsync(b, p->stream));
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  CHECK(ask.Attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 2 * total - kBytes);
  CHECK_OK(q.MemPoolDestroy(pool));
  size_t now = 0;
  CHECK_OK(p->api.MemGetInfo(&now, &total));
  CHECK(now == free);

  CHECK_OK(q.MemPoolCreate(&pool, &props));
  const CUmemAccessDesc other{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_OK(q.MemPoolSetAccess(pool, &other, 1));
  CUdeviceptr m = kUntouched;
  CHECK(q.MemAllocFromPoolAsync(&m, 2 * total, pool, p->stream) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_OK(q.MemPoolDestroy(pool));
  CHECK_OK(p->api.MemFree(first));
}
