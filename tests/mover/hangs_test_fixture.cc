#include "tests/mover/hangs_test_fixture.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/base/log.h"
#include "tests/kernels/test_kernels.h"

namespace vramspan_test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSlower = 4;
#else
constexpr int kSlower = 1;
#endif

// A step that takes this long does not end. Longer than a kernel waits, so that the kernel's end
// shows what it was that waited.
constexpr std::chrono::seconds kNever{30 * kSlower};
// Some ten seconds on a GPU, some seven on a processor.
constexpr long long kSpinCycles = 20'000'000'000 * kSlower;

constexpr const char* kKernels[] = {"fill_hash", "add_constant",         "copy", "nothing", "touch",
                                    "set_flag",  "spin_until_or_give_up"};

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "hangs: %s: %s\n", what, vramspan::CuResultName(result).c_str());
  std::abort();
}

}  // namespace

StepWatchdog::StepWatchdog(std::string situation)
    : situation_(std::move(situation)),
      step_("its first step"),
      until_(std::chrono::steady_clock::now() + kNever),
      thread_([this] { Watch(); }) {}

StepWatchdog::~StepWatchdog() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StepWatchdog::Await(std::string what) {
  const std::lock_guard<std::mutex> lock(mu_);
  step_ = std::move(what);
  until_ = std::chrono::steady_clock::now() + kNever;
}

void StepWatchdog::Watch() {
  std::unique_lock<std::mutex> lock(mu_);
  while (!done_) {
    if (std::chrono::steady_clock::now() > until_) {
      std::fprintf(stderr, "hangs: %s: has waited for %s for %lld s, and gives up\n",
                   situation_.c_str(), step_.c_str(), static_cast<long long>(kNever.count()));
      std::abort();
    }
    wake_.wait_for(lock, std::chrono::milliseconds(200));
  }
}

const HangsWorld& HangsWorld::Get() {
  static const HangsWorld* const world = new HangsWorld();
  return *world;
}

HangsWorld::HangsWorld() {
  // Some situations are about kernels that are loaded when they are first launched.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  auto driver = vramspan::Driver::Load();
  if (!driver.ok()) {
    std::fprintf(stderr, "hangs: %s\n", std::string(driver.status().message()).c_str());
    std::abort();
  }
  driver_ = *driver;
#define VS_X(field, symbol)                                                \
  field = reinterpret_cast<decltype(&::symbol)>(driver_->Symbol(#symbol)); \
  Must(field != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, #symbol);
  VRAMSPAN_HANGS_CALLS(VS_X)
#undef VS_X
  CUdevice device = 0;
  Must(api().DeviceGet(&device, 0), "cuDeviceGet");
  Must(api().DevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  Must(api().CtxSetCurrent(context_), "cuCtxSetCurrent");
  Must(simcuda::LoadKernels(test_kernels_images(), api().ModuleLoadData, &module_),
       "cuModuleLoadData");
  RunEverythingOnce();
}

void HangsWorld::RunEverythingOnce() {
  CUdeviceptr scratch = 0;
  Must(api().MemAlloc(&scratch, 2 * kChunk), "cuMemAlloc");
  size_t none = 0;
  Word zero = 0;
  unsigned flag = 0;
  long long cycles = 0;
  Must(api().MemsetD8Async(scratch, 0, kChunk, nullptr), "cuMemsetD8Async");
  for (const char* name : kKernels) {
    std::vector<void*> params;
    if (name == std::string("copy")) {
      params = {&scratch, &scratch, &none};
    } else if (name == std::string("set_flag")) {
      params = {&scratch, &flag};
    } else if (name == std::string("spin_until_or_give_up")) {
      params = {&scratch, &flag, &cycles, &scratch};
    } else {
      params = {&scratch, &none, &zero};
    }
    Must(Launch(Kernel(name), nullptr, params, 1), name);
  }
  std::vector<char> bytes(kChunk);
  Must(MemcpyHtoD(scratch, bytes.data(), kChunk), "cuMemcpyHtoD");
  Must(MemcpyDtoH(bytes.data(), scratch, kChunk), "cuMemcpyDtoH");
  Must(api().MemcpyDtoDAsync(scratch + kChunk, scratch, kChunk, nullptr), "cuMemcpyDtoDAsync");
  Must(api().CtxSynchronize(), "cuCtxSynchronize");
  Must(api().MemFree(scratch), "cuMemFree");
}

CUfunction HangsWorld::Kernel(const char* name) const {
  CUfunction function = nullptr;
  Must(api().ModuleGetFunction(&function, module_, name), name);
  return function;
}

CUresult HangsWorld::Launch(CUfunction kernel, CUstream stream, std::vector<void*> params,
                            unsigned blocks) const {
  return api().LaunchKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, params.data(), nullptr);
}

Flag::Flag() {
  const HangsWorld& world = HangsWorld::Get();
  void* page = nullptr;
  Must(world.api().MemHostAlloc(&page, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
       "cuMemHostAlloc");
  Must(world.api().MemHostGetDevicePointer(&address_, page, 0), "cuMemHostGetDevicePointer");
  words_ = static_cast<std::atomic<unsigned>*>(page);
  new (&words_[0]) std::atomic<unsigned>(0);
  new (&words_[1]) std::atomic<unsigned>(0);
}

Flag::~Flag() {
  // What a failed test has left waiting; the comparison is cyclic, so half the range is "all". Both
  // calls fail in a context that a test has killed.
  Set(0x40000000);
  HangsWorld::Get().api().CtxSynchronize();
  EXPECT_EQ(words_[1].load(), 0u) << "a kernel gave up waiting for the flag to change";
  HangsWorld::Get().api().MemFreeHost(words_);
}

void Flag::SpinIn(CUstream stream, unsigned value) {
  const HangsWorld& world = HangsWorld::Get();
  CUdeviceptr flag = Address(0), run_in_place = Address(1);
  long long cycles = kSpinCycles;
  const CUfunction kernel = world.Kernel("spin_until_or_give_up");
  void* params[] = {&flag, &value, &cycles, &run_in_place};
  EXPECT_CU(world.api().LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

void Flag::BusyIn(CUstream stream, long long cycles) {
  const HangsWorld& world = HangsWorld::Get();
  unsigned never = 0x7fffffff;
  CUdeviceptr flag = Address(0), run_in_place = Address(2);
  const CUfunction kernel = world.Kernel("spin_until_or_give_up");
  void* params[] = {&flag, &never, &cycles, &run_in_place};
  EXPECT_CU(world.api().LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
}

void Flag::ParkIn(CUstream stream, unsigned value) {
  EXPECT_CU(HangsWorld::Get().api().StreamWaitValue32(stream, Address(0), value,
                                                      CU_STREAM_WAIT_VALUE_GEQ));
}

void Flag::SetIn(CUstream stream, unsigned value) {
  const HangsWorld& world = HangsWorld::Get();
  CUdeviceptr flag = Address(0);
  EXPECT_CU(world.Launch(world.Kernel("set_flag"), stream, {&flag, &value}, 1));
}

Hangs::Hangs() : world_(HangsWorld::Get()), cu_(world_.api()) {
  // What goes wrong here is seen by what the calls return.
  vramspan::SetLogThreshold(vramspan::LogLevel::kOff);
  Must(cu_.CtxSetCurrent(world_.context()), "cuCtxSetCurrent");
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  watchdog_ = std::make_unique<StepWatchdog>(info->name());
}

void Hangs::TearDown() {
  Join();
  CloseRuntime();
  Await("the streams to be destroyed");
  for (const CUstream stream : streams_) {
    const CUresult result = cu_.StreamDestroy(stream);
    EXPECT_TRUE(context_dead_ || result == CUDA_SUCCESS) << vramspan::CuResultName(result);
  }
  watchdog_.reset();
}

void Hangs::CloseRuntime() {
  if (runtime_ == nullptr) return;
  Await("vramspanDestroy");
  const CUresult result = vramspanDestroy(runtime_);
  EXPECT_TRUE(context_dead_ || result == CUDA_SUCCESS) << LastError();
  runtime_ = nullptr;
}

void Hangs::Open(const HangsOptions& options) {
  const std::string budget = std::to_string(options.budget * kChunk / kMiB) + "MiB";
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.device_memory = budget.c_str();
  config.host_memory = "2GiB";
  config.chunk = "2MiB";
  config.arena = "16GiB";
  config.flags = options.flags | VRAMSPAN_CONFIG_QUIET;
  config.deadline_us = options.deadline_us;
  config.tracer = options.traced ? "auto" : "off";
  Await("vramspanCreate");
  ASSERT_SPAN(vramspanCreate(&runtime_, &config));
}

void Hangs::Fill(size_t count) {
  const CUstream stream = NewStream();
  for (size_t i = 0; i < count; ++i) {
    Await("memory to be allocated and filled");
    Block block;
    block.seed = blocks_.size() + 1;
    ASSERT_SPAN(vramspanMemAlloc(runtime_, &block.ptr, kChunk));
    blocks_.push_back(block);
    ASSERT_SPAN(Begin(stream, {blocks_.size() - 1}, VRAMSPAN_WRITE));
    size_t words = kWords;
    EXPECT_CU(
        world_.Launch(world_.Kernel("fill_hash"), stream, {&block.ptr, &words, &block.seed}, 8));
    EXPECT_SPAN(End(stream));
  }
  Await("memory to be filled");
  EXPECT_CU(cu_.StreamSynchronize(stream));
  EXPECT_SPAN(vramspanStreamForget(runtime_, stream));
}

void Hangs::Prepare(size_t blocks, size_t on_device, const HangsOptions& options) {
  ASSERT_NO_FATAL_FAILURE(Open(options));
  ASSERT_NO_FATAL_FAILURE(Fill(blocks));
  const CUstream stream = NewStream();
  // A busy machine may run into the deadline, which leaves memory where it is.
  for (int attempt = 0; attempt < 20; ++attempt) {
    Await("memory to be placed");
    for (size_t i = blocks; i-- > 0;) {
      EXPECT_SPAN(vramspanMemPrefetchAsync(
          runtime_, blocks_[i].ptr, kChunk,
          i < on_device ? VRAMSPAN_LOCATION_DEVICE : VRAMSPAN_LOCATION_HOST, stream));
      Add(stream, {i});
    }
    for (const bool device : {false, true}) {
      for (size_t i = 0; i < blocks; ++i) {
        if ((i < on_device) != device) continue;
        EXPECT_SPAN(vramspanMemPrefetchAsync(
            runtime_, blocks_[i].ptr, kChunk,
            device ? VRAMSPAN_LOCATION_DEVICE : VRAMSPAN_LOCATION_HOST, stream));
      }
    }
    ASSERT_SPAN(vramspanSynchronize(runtime_));
    size_t right = 0;
    for (size_t i = 0; i < blocks; ++i) right += OnDevice(i) == (i < on_device);
    if (right == blocks) return;
  }
  FAIL() << "memory does not go where it is sent";
}

CUstream Hangs::NewStream(unsigned flags) {
  CUstream stream = nullptr;
  Must(cu_.StreamCreate(&stream, flags), "cuStreamCreate");
  streams_.push_back(stream);
  return stream;
}

bool Hangs::Within(std::chrono::milliseconds patience, const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

void Hangs::Start(std::function<void()> work) {
  threads_.emplace_back([this, work = std::move(work)] {
    const CUresult result = cu_.CtxSetCurrent(world_.context());
    EXPECT_TRUE(context_dead_ || result == CUDA_SUCCESS) << vramspan::CuResultName(result);
    work();
  });
}

void Hangs::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

CUresult Hangs::Begin(CUstream stream, std::initializer_list<size_t> blocks, uint32_t access) {
  std::vector<vramspanRange> ranges;
  for (const size_t i : blocks) ranges.push_back(blocks_[i].range(access));
  return vramspanWorkBegin(runtime_, stream, ranges.data(), ranges.size());
}

CUresult Hangs::BeginUnknown(CUstream stream) {
  return vramspanWorkBegin(runtime_, stream, nullptr, 0);
}

CUresult Hangs::End(CUstream stream) { return vramspanWorkEnd(runtime_, stream); }

void Hangs::LaunchAdd(CUstream stream, size_t block, Word value) {
  Block& b = blocks_[block];
  size_t words = kWords;
  EXPECT_CU(world_.Launch(world_.Kernel("add_constant"), stream, {&b.ptr, &words, &value}, 8));
  b.add += value;
}

void Hangs::LaunchAddHead(CUstream stream, size_t block) {
  Block& b = blocks_[block];
  size_t words = Block::kHead;
  Word value = 1;
  EXPECT_CU(world_.Launch(world_.Kernel("add_constant"), stream, {&b.ptr, &words, &value}, 1));
  b.head += value;
}

void Hangs::Add(CUstream stream, std::initializer_list<size_t> blocks) {
  ASSERT_SPAN(Begin(stream, blocks));
  for (const size_t i : blocks) LaunchAdd(stream, i);
  EXPECT_SPAN(End(stream));
}

vramspanStatistics Hangs::Stats() const {
  vramspanStatistics stats{};
  stats.struct_size = sizeof(stats);
  EXPECT_SPAN(vramspanGetStatistics(runtime_, &stats));
  return stats;
}

bool Hangs::OnDevice(size_t block) const {
  vramspanResidency where{};
  EXPECT_SPAN(vramspanMemResidency(runtime_, blocks_[block].ptr, kChunk, &where));
  return where.device_bytes == kChunk;
}

void Hangs::Finish() {
  Await("vramspanSynchronize, all work having been submitted");
  EXPECT_SPAN(vramspanSynchronize(runtime_));
  ExpectContents();
}

void Hangs::ExpectContents() {
  Await("the contents to be read back");
  std::vector<Word> words(kWords);
  for (size_t at = 0; at < blocks_.size(); ++at) {
    const Block& b = blocks_[at];
    if (b.ptr == 0) continue;  // Freed by the test.
    ASSERT_CU(world_.MemcpyDtoH(words.data(), b.ptr, kChunk));
    size_t wrong = 0;
    for (size_t i = 0; i < kWords; ++i) {
      wrong += words[i] != HashWord(i, b.seed) + b.add + (i < Block::kHead ? b.head : 0);
    }
    EXPECT_EQ(wrong, 0u) << "words of block " << at << " are wrong";
  }
}

}  // namespace vramspan_test
