#include "tests/mover/world.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/log.h"

namespace vramspan_test {

using vramspan::Driver;

std::string LastError() { return vramspanLastErrorMessage(); }

World::World() {
  vramspan::SetLogThreshold(vramspan::LogLevel::kOff);
  auto driver = Driver::Load();
  VS_CHECK(driver.ok());
  driver_ = *driver;
  fail = Symbol<decltype(fail)>("simcudaFail");
  failed_calls = Symbol<decltype(failed_calls)>("simcudaFailedCalls");
  call_count = Symbol<decltype(call_count)>("simcudaCallCount");
  set_delay = Symbol<decltype(set_delay)>("simcudaSetDelay");
  memory_used = Symbol<decltype(memory_used)>("simcudaMemoryUsed");
  set_device_memory = Symbol<decltype(set_device_memory)>("simcudaSetDeviceMemory");
  set_host_memory = Symbol<decltype(set_host_memory)>("simcudaSetHostMemory");
  stale_uses = Symbol<decltype(stale_uses)>("simcudaStaleHandleUses");
  reset = Symbol<decltype(reset)>("simcudaReset");
  memcpy_dtoh_ = Symbol<decltype(memcpy_dtoh_)>("cuMemcpyDtoH_v2");
  reset();
  CUdevice device = 0;
  VS_CHECK(api().DeviceGet(&device, 0) == CUDA_SUCCESS);
  VS_CHECK(api().DevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS);
  // What a test before has left there, where cuCtxPopCurrent was made to fail.
  for (CUcontext left = nullptr;;) {
    VS_CHECK(api().CtxGetCurrent(&left) == CUDA_SUCCESS);
    if (left == nullptr) break;
    VS_CHECK(api().CtxPopCurrent(&left) == CUDA_SUCCESS);
  }
  VS_CHECK(api().CtxSetCurrent(context_) == CUDA_SUCCESS);
  VS_CHECK(simcuda::LoadKernels(test_kernels_images(), api().ModuleLoadData, &module_) ==
           CUDA_SUCCESS);
  fill_ = Kernel("fill_hash");
  add_ = Kernel("add_constant");
  checksum_ = Kernel("checksum");
}

World::~World() {
  reset();
  VS_CHECK(api().CtxSetCurrent(nullptr) == CUDA_SUCCESS);
  VS_CHECK(api().DevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
}

CUfunction World::Kernel(const char* name) const {
  CUfunction f = nullptr;
  VS_CHECK(api().ModuleGetFunction(&f, module_, name) == CUDA_SUCCESS);
  return f;
}

CUstream World::NewStream(unsigned flags) const {
  CUstream stream = nullptr;
  VS_CHECK(api().StreamCreate(&stream, flags) == CUDA_SUCCESS);
  return stream;
}

CUresult World::Launch(CUfunction kernel, CUstream stream, std::vector<void*> params,
                       unsigned blocks) const {
  ++launches_;
  return api().LaunchKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, params.data(), nullptr);
}

CUresult World::LaunchFill(const Buffer& b, CUstream stream) const {
  CUdeviceptr words = b.ptr;
  size_t count = b.words;
  Word seed = b.seed;
  return Launch(fill_, stream, {&words, &count, &seed});
}

CUresult World::LaunchAdd(const Buffer& b, Word value, CUstream stream, unsigned blocks) const {
  CUdeviceptr words = b.ptr;
  size_t count = b.words;
  return Launch(add_, stream, {&words, &count, &value}, blocks);
}

CUresult World::LaunchChecksum(const Buffer& b, CUdeviceptr out, CUstream stream) const {
  CUdeviceptr words = b.ptr;
  size_t count = b.words;
  return Launch(checksum_, stream, {&words, &count, &out});
}

std::string World::Wrong(const Buffer& b) const {
  std::vector<Word> words(b.words);
  const CUresult r = memcpy_dtoh_(words.data(), b.ptr, b.bytes());
  if (r != CUDA_SUCCESS) return "cuMemcpyDtoH: " + vramspan::CuResultName(r);
  for (size_t i = 0; i < b.words; ++i) {
    const Word right = HashWord(i, b.seed) + b.add;
    if (words[i] == right) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "word %zu of %zu at 0x%llx is %llx (%lld too much)", i,
                  b.words, b.ptr, words[i], static_cast<long long>(words[i] - right));
    return text;
  }
  return "";
}

HostFlag::HostFlag(const World& world) : world_(world) {
  void* page = nullptr;
  VS_CHECK(world.api().MemHostAlloc(
               &page, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
  word_ = new (page) std::atomic<unsigned>(0);
}

HostFlag::~HostFlag() { EXPECT_CU(world_.api().MemFreeHost(word_)); }

CUresult HostFlag::SpinIn(CUstream stream, unsigned value) const {
  CUdeviceptr flag = address();
  return world_.Launch(world_.Kernel("spin_until"), stream, {&flag, &value}, 1);
}

CUresult HostFlag::ParkIn(CUstream stream, unsigned value) const {
  return world_.api().StreamWaitValue32(stream, address(), value, CU_STREAM_WAIT_VALUE_GEQ);
}

vramspanConfig Config(const RuntimeOptions& options) {
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.device_memory = options.device_memory.c_str();
  config.host_memory = options.host_memory.c_str();
  config.chunk = options.chunk;
  config.policy = options.policy;
  config.tracer = options.tracer;
  config.overlap = options.overlap;
  config.arena = "16GiB";
  config.flags = options.flags | VRAMSPAN_CONFIG_QUIET;
  config.deadline_us = options.deadline_us;
  return config;
}

TestRuntime::TestRuntime(const World& world, const RuntimeOptions& options) : world_(world) {
  const vramspanConfig config = Config(options);
  const CUresult r = vramspanCreate(&runtime_, &config);
  if (r != CUDA_SUCCESS) ADD_FAILURE() << "vramspanCreate: " << LastError();
  VS_CHECK(r == CUDA_SUCCESS);
}

TestRuntime::~TestRuntime() {
  if (runtime_ == nullptr) return;
  EXPECT_SPAN(Destroy());
}

CUresult TestRuntime::Destroy() {
  const CUresult r = vramspanDestroy(runtime_);
  runtime_ = nullptr;
  return r;
}

vramspanStatistics TestRuntime::stats() const {
  vramspanStatistics s{};
  s.struct_size = sizeof(s);
  EXPECT_SPAN(vramspanGetStatistics(runtime_, &s));
  return s;
}

Buffer TestRuntime::Alloc(size_t bytes) {
  Buffer b;
  b.words = bytes / sizeof(Word);
  EXPECT_SPAN(vramspanMemAlloc(runtime_, &b.ptr, bytes));
  return b;
}

void TestRuntime::Free(Buffer& b) {
  EXPECT_SPAN(vramspanMemFree(runtime_, b.ptr));
  b = Buffer();
}

void TestRuntime::Begin(CUstream stream, std::initializer_list<vramspanRange> ranges) {
  EXPECT_SPAN(vramspanWorkBegin(runtime_, stream, ranges.begin(), ranges.size()));
}

void TestRuntime::End(CUstream stream) { EXPECT_SPAN(vramspanWorkEnd(runtime_, stream)); }

void TestRuntime::Fill(Buffer& b, Word seed, CUstream stream) {
  b.seed = seed;
  b.add = 0;
  Begin(stream, {b.range(VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY)});
  EXPECT_CU(world_.LaunchFill(b, stream));
  End(stream);
}

void TestRuntime::Add(Buffer& b, Word value, CUstream stream) {
  Begin(stream, {b.range(VRAMSPAN_READ | VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY)});
  EXPECT_CU(world_.LaunchAdd(b, value, stream));
  End(stream);
  b.add += value;
}

void TestRuntime::Synchronize() { EXPECT_SPAN(vramspanSynchronize(runtime_)); }

uint64_t TestRuntime::OnDevice(const Buffer& b) const {
  vramspanResidency r{};
  EXPECT_SPAN(vramspanMemResidency(runtime_, b.ptr, b.bytes(), &r));
  return r.device_bytes;
}

std::vector<Buffer> TestRuntime::Filled(size_t count, size_t bytes, CUstream stream) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    buffers.push_back(Alloc(bytes));
    Fill(buffers.back(), i + 1, stream);
  }
  EXPECT_CU(world_.api().StreamSynchronize(stream));
  // Work that is recorded, of every stream so far, settles what went before. It comes in no order
  // that repeats: what is expected would move by itself.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < count; ++i) {
      Buffer& b = buffers[round == 0 ? count - 1 - i : i];
      EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_, b.ptr, 1, VRAMSPAN_LOCATION_DEVICE, stream));
      Begin(stream, {b.range(VRAMSPAN_READ)});
      End(stream);
    }
    Synchronize();
  }
  return buffers;
}

MoverTest::~MoverTest() { EXPECT_EQ(world_.stale_uses(), 0u) << "a handle was used after its end"; }

}  // namespace vramspan_test
