// Launches: parameters, shapes, lazy loading, faults, kernels that wait.

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

using vramspan_test::Arrays;
using vramspan_test::AtomicCells;
using vramspan_test::HashWord;

class LaunchTest : public KernelTest {};

TEST_F(LaunchTest, ParametersAreCopiedAtTheLaunch) {
  const CUdeviceptr out = Words(16);
  const CUfunction fill = Loaded("fill");
  Gate gate;
  gate.Park(stream_);
  CUdeviceptr address = out;
  size_t count = 16;
  Word value = 5;
  void* params[] = {&address, &count, &value};
  SIM_OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, params, nullptr));
  address = 0;
  count = 1 << 30;
  value = 6;
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(out, 16), std::vector<Word>(16, 5));
}

TEST_F(LaunchTest, ParametersInABuffer) {
  const CUdeviceptr out = Words(16);
  struct {
    CUdeviceptr address;
    size_t count;
    Word value;
  } packed = {out, 16, 8};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  const CUfunction fill = Function("fill");
  SIM_OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, extra));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(out, 16), std::vector<Word>(16, 8));

  size = sizeof(packed) - 1;
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
  void* unknown[] = {reinterpret_cast<void*>(9), &packed, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, unknown),
            CUDA_ERROR_INVALID_VALUE);
  void* params[] = {&packed.address, &packed.count, &packed.value};
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, params, extra),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchTest, EveryAlignmentBothWays) {
  struct alignas(16) Four {
    float x, y, z, w;
  };
  const CUdeviceptr out = Words(2);
  const CUfunction kernel = Function("mixed_parameters");
  const Four four = {4.0f, 0.0f, 0.0f, 9.0f};
  SIM_OK(Launch(kernel, stream_, 'a', 2.0, short{3}, four, 'e', Word{6}, out));
  struct {
    char a;
    double b;
    short c;
    Four d;
    char e;
    Word f;
    CUdeviceptr out;
  } packed = {'a', 2.0, 3, four, 'e', 6, out + sizeof(Word)};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
                   CU_LAUNCH_PARAM_END};
  SIM_OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, extra));
  SIM_OK(cuStreamSynchronize(stream_));
  Word hash = 0;
  for (const Word value : {Word{'a'}, Word{2}, Word{3}, Word{4}, Word{9}, Word{'e'}, Word{6}}) {
    hash = hash * 31 + value;
  }
  EXPECT_EQ(Read(out, 2), (std::vector<Word>{hash, hash}));
}

TEST_F(LaunchTest, StructsWithPointers) {
  constexpr size_t kCount = 100;
  const CUdeviceptr left = Words(kCount);
  const CUdeviceptr right = Words(kCount);
  const CUdeviceptr out = Words(kCount);
  SIM_OK(Launch(Function("fill_hash"), stream_, left, kCount, Word{1}));
  SIM_OK(Launch(Function("fill_hash"), stream_, right, kCount, Word{2}));
  auto pointer = [](CUdeviceptr address) { return reinterpret_cast<Word*>(address); };
  const Arrays arrays = {'t', pointer(out), pointer(left), pointer(right), kCount};
  SIM_OK(Launch(Function("add_arrays"), stream_, arrays));
  SIM_OK(cuStreamSynchronize(stream_));
  const std::vector<Word> sums = Read(out, kCount);
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(sums[i], HashWord(i, 1) + HashWord(i, 2));
}

TEST_F(LaunchTest, SumsAgreeWithTheHost) {
  constexpr size_t kCount = 1000;
  const CUdeviceptr words = Words(kCount);
  const CUdeviceptr sum = Words(1);
  SIM_OK(Launch(Function("fill_hash"), stream_, words, kCount, Word{77}));
  SIM_OK(Launch(Function("checksum"), stream_, words, kCount, sum));
  SIM_OK(cuStreamSynchronize(stream_));
  Word expected = 0;
  for (size_t i = 0; i < kCount; ++i) expected ^= HashWord(i, HashWord(i, 77));
  EXPECT_EQ(ReadOne(sum), expected);
}

TEST_F(LaunchTest, ThreeDimensions) {
  struct Index {
    unsigned x, y, z;
  };
  constexpr size_t kThreads = 2 * 3 * 4 * 5 * 2 * 3;
  const CUdeviceptr blocks = Words(kThreads * 2);
  const CUdeviceptr threads = Words(kThreads * 2);
  CUdeviceptr addresses[] = {blocks, threads};
  void* params[] = {&addresses[0], &addresses[1]};
  SIM_OK(cuLaunchKernel(Function("record_indices"), 2, 3, 4, 5, 2, 3, 0, stream_, params, nullptr));
  std::vector<Index> block(kThreads);
  std::vector<Index> thread(kThreads);
  SIM_OK(cuStreamSynchronize(stream_));
  SIM_OK(cuMemcpyDtoH(block.data(), blocks, kThreads * sizeof(Index)));
  SIM_OK(cuMemcpyDtoH(thread.data(), threads, kThreads * sizeof(Index)));
  for (size_t i = 0; i < kThreads; ++i) {
    const size_t b = i / 30;
    const size_t t = i % 30;
    EXPECT_EQ(block[i].x, b % 2);
    EXPECT_EQ(block[i].y, b / 2 % 3);
    EXPECT_EQ(block[i].z, b / 6);
    EXPECT_EQ(thread[i].x, t % 5);
    EXPECT_EQ(thread[i].y, t / 5 % 2);
    EXPECT_EQ(thread[i].z, t / 10);
  }
}

TEST_F(LaunchTest, ShapesAreChecked) {
  const CUfunction nothing = Loaded("nothing");
  auto launch = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned shared) {
    return cuLaunchKernel(nothing, gx, gy, gz, bx, by, bz, shared, stream_, nullptr, nullptr);
  };
  EXPECT_EQ(launch(1, 1, 1, 1024, 1, 1, 48 << 10), CUDA_SUCCESS);
  EXPECT_EQ(launch(1, 1, 1, 16, 1, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch(0, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1u << 31, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 64, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 1, 1, 1, 49 << 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchCooperativeKernel(nothing, 132 * 2, 1, 1, 1024, 1, 1, 0, stream_, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchCooperativeKernel(nothing, 132 * 2 + 1, 1, 1, 1024, 1, 1, 0, stream_, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(LaunchTest, LaunchAttributes) {
  const CUdeviceptr out = Words(4);
  CUevent event = nullptr;
  SIM_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUlaunchAttribute attributes[3] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {2, 1, 1};
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attributes[2].value.launchCompletionEvent.event = event;
  CUlaunchConfig config = {2, 1, 1, 32, 1, 1, 0, stream_, attributes, 3};
  CUdeviceptr address = out;
  size_t count = 4;
  Word value = 3;
  void* params[] = {&address, &count, &value};
  const CUfunction fill = Loaded("fill");
  {
    Gate gate;
    gate.Park(stream_);
    SIM_OK(cuLaunchKernelEx(&config, fill, params, nullptr));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  }
  SIM_OK(cuEventSynchronize(event));
  EXPECT_EQ(Read(out, 4), std::vector<Word>(4, 3));
  config.gridDimX = 3;
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, params, nullptr), CUDA_ERROR_INVALID_VALUE);
  config.gridDimX = 2;
  attributes[0].id = static_cast<CUlaunchAttributeID>(999);
  EXPECT_EQ(cuLaunchKernelEx(&config, fill, params, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, fill, params, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// The first launch of a function waits, inside the call, for all that was submitted before it.
TEST_F(LaunchTest, TheFirstLaunchWaitsForTheContext) {
  const CUfunction nothing = Function("nothing");
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_LOADED;
  SIM_OK(cuFuncIsLoaded(&state, nothing));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
  CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
  SIM_OK(cuModuleGetLoadingMode(&mode));
  EXPECT_EQ(mode, CU_MODULE_LAZY_LOADING);
  const CUstream other = NewStream();
  Gate gate;
  gate.Park(other);
  std::atomic<bool> launched{false};
  std::thread launcher([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(Launch(nothing, stream_), CUDA_SUCCESS);
    launched = true;
  });
  LetWorkersRun();
  EXPECT_FALSE(launched);
  gate.Open();
  launcher.join();
  SIM_OK(cuFuncIsLoaded(&state, nothing));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
}

TEST_F(LaunchTest, LaterLaunchesAndLoadedFunctionsDoNotWait) {
  const CUfunction nothing = Function("nothing");
  SIM_OK(Launch(nothing, stream_));
  const CUfunction fill = Loaded("fill");
  const CUdeviceptr out = Words(4);
  const CUstream other = NewStream();
  Gate gate;
  gate.Park(other);
  SIM_OK(Launch(nothing, stream_));  // hangs here if it waited
  SIM_OK(Launch(fill, stream_, out, size_t{4}, Word{1}));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
}

TEST_F(LaunchTest, AFaultInAKernelKillsTheContext) {
  const CUfunction nothing = Loaded("nothing");
  CUdeviceptr nowhere = 0;
  SIM_OK(cuMemAddressReserve(&nowhere, kGranularity, 0, 0, 0));
  SIM_OK(Launch(Function("touch"), stream_, nowhere));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Launch(nothing, stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_EXPECT_OK(cuMemAddressFree(nowhere, kGranularity));
}

// A kernel that waits for what only a later call starts.
TEST_F(LaunchTest, AKernelWaitsForAnotherStream) {
  const CUdeviceptr flag = Words(1);
  const CUfunction set = Loaded("set_flag");
  const CUstream other = NewStream();
  SIM_OK(Launch(Loaded("spin_until"), stream_, flag, 3u));
  LetWorkersRun();
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  SIM_OK(Launch(set, other, flag, 3u));
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(LaunchTest, AKernelWaitsForTheHost) {
  void* flag = nullptr;
  SIM_OK(cuMemHostAlloc(&flag, sizeof(unsigned), 0));
  __atomic_store_n(static_cast<unsigned*>(flag), 0u, __ATOMIC_RELAXED);
  SIM_OK(Launch(Loaded("spin_until"), stream_, flag, 1u));
  LetWorkersRun();
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  __atomic_store_n(static_cast<unsigned*>(flag), 1u, __ATOMIC_RELEASE);
  SIM_OK(cuStreamSynchronize(stream_));
  SIM_EXPECT_OK(cuMemFreeHost(flag));
}

TEST_F(LaunchTest, AtomicsOfConcurrentKernels) {
  constexpr int kStreams = 4;
  constexpr int kLaunches = 20;
  constexpr Word kThreads = Word{kStreams} * kLaunches * 128;
  const CUdeviceptr address = Words(sizeof(AtomicCells) / sizeof(Word));
  const CUfunction atomics = Loaded("atomics");
  std::vector<CUstream> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(NewStream());
  for (int i = 0; i < kLaunches; ++i) {
    for (CUstream stream : streams) SIM_OK(Launch(atomics, stream, address));
  }
  SIM_OK(cuCtxSynchronize());
  AtomicCells cells;
  SIM_OK(cuMemcpyDtoH(&cells, address, sizeof(cells)));
  EXPECT_EQ(cells.sum_u32, kThreads);
  EXPECT_EQ(cells.sum_u64, kThreads);
  EXPECT_EQ(cells.sum_f32, static_cast<float>(kThreads));
  EXPECT_EQ(cells.sum_f64, static_cast<double>(kThreads));
  EXPECT_EQ(cells.system_u64, kThreads);
  EXPECT_EQ(cells.cas_u16, static_cast<unsigned short>(kThreads));
  EXPECT_EQ(cells.cas_u32, kThreads);
  EXPECT_EQ(cells.cas_u64, kThreads);
  EXPECT_EQ(cells.max_u32, 127u);
  EXPECT_EQ(cells.locked, kThreads);
  EXPECT_EQ(cells.lock, 0u);
  // What went in and what came out cancel, but for the token that is still in.
  EXPECT_EQ(cells.tokens, cells.exchange);
}

}  // namespace
}  // namespace simcuda
