// The C++ headers on the real runtime, over the driver that VRAMSPAN_DRIVER names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "examples/driver.h"
#include "vramspan/vramspan.hpp"

namespace {

using testing::HasSubstr;
using vramspan::Buffer;
using vramspan::Runtime;

constexpr size_t kMiB = size_t{1} << 20;
// A deadline that a busy machine does not miss: work that misses it finds its memory where it was.
constexpr std::chrono::seconds kPatient{30};

class HppRuntimeTest : public testing::Test {
 protected:
  std::vector<uint32_t> Pattern(size_t count, uint32_t seed) {
    std::vector<uint32_t> out(count);
    std::iota(out.begin(), out.end(), seed * 2654435761u);
    return out;
  }
  // Until memory runs short, or is first moved by hand, a runtime records no work, so it knows no
  // users of the memory and moves none of it. Afterwards it does, on the fixture's stream.
  void RecordWork(const Runtime& runtime, const Buffer<uint32_t>& any) {
    runtime.prefetch(any, vramspan::Location::device, stream_);
    runtime.synchronize();
  }
  void Wait() { driver_.Check(driver_.StreamSynchronize(stream_), "cuStreamSynchronize"); }

  const examples::Driver driver_;
  const examples::Context context_{driver_};
  const CUstream stream_ = context_.stream;
};

TEST_F(HppRuntimeTest, TwiceTheBudgetKeepsItsContents) {
  const Runtime runtime(
      {.device_memory = "16MiB", .chunk = "2MiB", .deadline = kPatient, .quiet = true});
  constexpr size_t kCount = 4 * kMiB / sizeof(uint32_t);
  std::vector<Buffer<uint32_t>> buffers;
  std::vector<std::vector<uint32_t>> host;
  for (uint32_t b = 0; b < 8; ++b) {
    buffers.push_back(runtime.alloc<uint32_t>(kCount));
    host.push_back(Pattern(kCount, b));
    runtime.upload(stream_, buffers[b], host[b], driver_.MemcpyHtoDAsync);
  }
  RecordWork(runtime, buffers[0]);
  for (int round = 0; round < 3; ++round) {
    for (size_t b = 0; b < buffers.size(); ++b) {
      const CUdeviceptr before = buffers[b].ptr();
      std::vector<uint32_t> back(kCount);
      // A download alone is served where the memory lies.
      runtime.prefetch(buffers[b], vramspan::Location::device, stream_);
      runtime.synchronize();
      runtime.download(stream_, back, buffers[b], driver_.MemcpyDtoHAsync);
      Wait();
      EXPECT_EQ(back, host[b]) << "buffer " << b << ", round " << round;
      EXPECT_EQ(buffers[b].ptr(), before);
    }
  }
  runtime.synchronize();
  const vramspan::Statistics s = runtime.statistics();
  EXPECT_GT(s.bytes_in, 0u);
  EXPECT_LE(s.device_used, s.device_budget);
  EXPECT_EQ(s.allocations, 8u);
}

TEST_F(HppRuntimeTest, ALaunchThatThrowsLeavesNoScopeOpen) {
  const Runtime runtime({.device_memory = "16MiB", .quiet = true});
  const Buffer<uint32_t> a = runtime.alloc<uint32_t>(1024);
  EXPECT_THROW(runtime.submit(stream_, {write(a)}, [] { throw 1; }), int);
  EXPECT_NO_THROW(runtime.submit(stream_, {write(a)}, [] {}));
  runtime.synchronize();
}

TEST_F(HppRuntimeTest, ScopesDoNotNest) {
  const Runtime runtime({.device_memory = "16MiB", .quiet = true});
  runtime.submit(stream_, vramspan::unknown, [&] {
    EXPECT_THROW(runtime.submit(stream_, vramspan::unknown, [] { FAIL() << "launched"; }),
                 vramspan::Error);
  });
}

TEST_F(HppRuntimeTest, ErrorsNameTheValue) {
  try {
    const Runtime runtime({.device_memory = "8Gib"});
    FAIL() << "no exception";
  } catch (const vramspan::Error& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_INVALID_VALUE);
    EXPECT_THAT(error.what(), HasSubstr("8Gib"));
  }
  EXPECT_THROW(Runtime({.policy = "best"}), vramspan::Error);
  const Runtime runtime({.device_memory = "16MiB", .no_host = true});
  try {
    (void)runtime.alloc<char>(64 * kMiB);
    FAIL() << "no exception";
  } catch (const vramspan::Error& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_OUT_OF_MEMORY);
  }
}

TEST_F(HppRuntimeTest, PrefetchAndPinMoveWhatTheyAreGiven) {
  // A deadline that a busy machine does not miss: a prefetch that misses it leaves memory where it
  // is.
  const Runtime runtime(
      {.device_memory = "16MiB", .chunk = "2MiB", .deadline = kPatient, .quiet = true});
  const auto a = runtime.alloc<uint32_t>(8 * kMiB / sizeof(uint32_t));
  const std::vector<uint32_t> pattern = Pattern(a.size(), 1);
  runtime.upload(stream_, a, pattern, driver_.MemcpyHtoDAsync);
  RecordWork(runtime, a);
  runtime.prefetch(a, vramspan::Location::host, stream_);
  runtime.synchronize();
  EXPECT_EQ(runtime.residency(a).host_bytes, a.size_bytes());
  runtime.prefetch(a.region(0, a.size() / 2), vramspan::Location::device, stream_);
  runtime.synchronize();
  EXPECT_EQ(runtime.residency(a).device_bytes, a.size_bytes() / 2);
  {
    const vramspan::Pin pin = runtime.pin(a);
    EXPECT_EQ(runtime.residency(a).pinned_bytes, a.size_bytes());
  }
  EXPECT_EQ(runtime.residency(a).pinned_bytes, 0u);
  std::vector<uint32_t> back(a.size());
  runtime.download(stream_, back, a, driver_.MemcpyDtoHAsync);
  Wait();
  EXPECT_EQ(back, pattern);
}

// As a program does that lets go of its context before the last runtime goes.
TEST_F(HppRuntimeTest, EndsWhereNoContextIsCurrent) {
  vramspanConfig config = {};
  config.struct_size = sizeof(config);
  config.device_memory = "16MiB";
  config.flags = VRAMSPAN_CONFIG_QUIET;
  vramspanRuntime runtime = nullptr;
  ASSERT_EQ(vramspanCreate(&runtime, &config), CUDA_SUCCESS) << vramspanLastErrorMessage();
  CUdeviceptr memory = 0;
  ASSERT_EQ(vramspanMemAlloc(runtime, &memory, 8 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(vramspanMemPrefetchAsync(runtime, memory, 8 * kMiB, VRAMSPAN_LOCATION_HOST, stream_),
            CUDA_SUCCESS);
  ASSERT_EQ(vramspanSynchronize(runtime), CUDA_SUCCESS) << vramspanLastErrorMessage();
  driver_.Check(driver_.CtxSetCurrent(nullptr), "cuCtxSetCurrent");
  EXPECT_EQ(vramspanDestroy(runtime), CUDA_SUCCESS) << vramspanLastErrorMessage();
  driver_.Check(driver_.CtxSetCurrent(context_.context), "cuCtxSetCurrent");
}

TEST_F(HppRuntimeTest, BuffersOutliveTheirRuntime) {
  Buffer<uint32_t> a;
  {
    const Runtime runtime({.device_memory = "16MiB", .quiet = true});
    a = runtime.alloc<uint32_t>(1024);
  }
  driver_.Check(driver_.MemsetD8Async(a.ptr(), 7, a.size_bytes(), stream_), "cuMemsetD8Async");
  Wait();
  a.reset();
}

// A child of fork ends as other programs do, with the destructors of what it has inherited.
TEST_F(HppRuntimeTest, AChildOfForkIsRefusedAndEndsInPeace) {
  const Runtime runtime({.device_memory = "16MiB", .quiet = true});
  const Buffer<uint32_t> a = runtime.alloc<uint32_t>(kMiB);
  RecordWork(runtime, a);  // Its threads are there.
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    CUdeviceptr memory = 0;
    int right = vramspanMemAlloc(runtime.get(), &memory, kMiB) == CUDA_ERROR_NOT_INITIALIZED;
    right += vramspanWorkBegin(runtime.get(), stream_, nullptr, 0) == CUDA_ERROR_NOT_INITIALIZED;
    right += vramspanMemFree(runtime.get(), a.ptr()) == CUDA_ERROR_NOT_INITIALIZED;
    right += std::string(vramspanLastErrorMessage()).find("child of fork") != std::string::npos;
    right += vramspanDestroy(runtime.get()) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(right);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

}  // namespace
