// vramspan.hpp on a fake of the C interface: ownership, exceptions, and what reaches the interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "tests/api/fake_vramspan.h"
#include "vramspan/vramspan.hpp"

namespace vramspan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vramspan_fake::state;

static_assert(!std::is_copy_constructible_v<Buffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<Buffer<float>>);
static_assert(std::is_nothrow_move_assignable_v<Buffer<float>>);
static_assert(!std::is_copy_constructible_v<Work> && !std::is_move_constructible_v<Work>);
static_assert(std::is_copy_constructible_v<Runtime>);

class HppTest : public testing::Test {
 protected:
  HppTest() { vramspan_fake::Reset(); }
  ~HppTest() override {
    runtime_.reset();
    EXPECT_EQ(state().runtimes, 0);
    EXPECT_TRUE(state().allocations.empty());
    EXPECT_FALSE(state().open);
  }
  const Runtime& runtime() {
    if (!runtime_) {
      runtime_.emplace();
      state().calls.clear();
    }
    return *runtime_;
  }

  std::optional<Runtime> runtime_;
  CUstream stream_ = nullptr;
};

TEST_F(HppTest, ConfigReachesTheInterface) {
  using std::chrono_literals::operator""ms;
  const Runtime runtime({.device = 3,
                         .device_memory = "8GiB",
                         .policy = "clock",
                         .deadline = 5ms,
                         .quiet = true,
                         .share_context = true});
  const vramspanConfig& config = state().config;
  EXPECT_EQ(config.struct_size, sizeof(vramspanConfig));
  EXPECT_EQ(config.device, 3);
  EXPECT_EQ(config.deadline_us, 5000u);
  EXPECT_EQ(config.flags, VRAMSPAN_CONFIG_QUIET | VRAMSPAN_CONFIG_SHARE_CONTEXT);
  EXPECT_EQ(state().config_strings,
            (std::map<std::string, std::string>{{"device_memory", "8GiB"}, {"policy", "clock"}}));
}

TEST_F(HppTest, EveryTextReachesTheInterface) {
  const Runtime runtime({.driver = "libcuda.so.1",
                         .device_memory = "8GiB",
                         .host_memory = "64GiB",
                         .chunk = "4MiB",
                         .policy = "lru",
                         .arena = "2TiB",
                         .tracer = "cupti",
                         .overlap = "safe",
                         .record = "out.vramspan"});
  EXPECT_EQ(state().config_strings,
            (std::map<std::string, std::string>{{"driver", "libcuda.so.1"},
                                                {"device_memory", "8GiB"},
                                                {"host_memory", "64GiB"},
                                                {"chunk", "4MiB"},
                                                {"policy", "lru"},
                                                {"arena", "2TiB"},
                                                {"tracer", "cupti"},
                                                {"overlap", "safe"},
                                                {"record", "out.vramspan"}}));
}

TEST_F(HppTest, DeadlineOutOfRangeIsRefused) {
  EXPECT_THROW(Runtime({.deadline = std::chrono::microseconds(-1)}), Error);
  EXPECT_THROW(Runtime({.deadline = std::chrono::hours(2)}), Error);
}

TEST_F(HppTest, ErrorsCarryCodeAndSentence) {
  state().fail["Create"] = CUDA_ERROR_INVALID_VALUE;
  try {
    const Runtime runtime;
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_INVALID_VALUE);
    EXPECT_STREQ(error.what(), "Create was told to fail");
  }
}

TEST_F(HppTest, ErrorWithoutASentenceNamesItsCode) {
  try {
    check(CUDA_ERROR_LAUNCH_FAILED);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("719"));
  }
}

TEST_F(HppTest, BufferOwnsItsMemory) {
  Buffer<double> a = runtime().alloc<double>(10);
  EXPECT_EQ(a.size(), 10u);
  EXPECT_EQ(a.size_bytes(), 80u);
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(a.data()), a.ptr());
  Buffer<double> b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): a moved-from buffer is empty
  EXPECT_EQ(b.size(), 10u);
  Buffer<double> c = runtime().alloc<double>(1);
  c = std::move(b);
  EXPECT_EQ(c.size(), 10u);
  EXPECT_EQ(state().allocations.size(), 1u);
  c.reset();
  EXPECT_TRUE(c.empty());
  EXPECT_THAT(state().calls, ElementsAre("MemAlloc 80", "MemAlloc 8", "MemFree", "MemFree"));
}

TEST_F(HppTest, EmptyBuffersAllocateNothing) {
  EXPECT_TRUE(runtime().alloc<int>(0).empty());
  EXPECT_THAT(state().calls, ElementsAre());
}

TEST_F(HppTest, CountThatOverflowsIsRefused) {
  EXPECT_THROW((void)runtime().alloc<int>(~size_t{0} / 2), Error);
  EXPECT_THAT(state().calls, ElementsAre());
}

TEST_F(HppTest, ResetReportsAFailedFree) {
  Buffer<int> a = runtime().alloc<int>(4);
  state().fail["MemFree"] = CUDA_ERROR_INVALID_VALUE;
  EXPECT_THROW(a.reset(), Error);
  EXPECT_TRUE(a.empty());
  state().allocations.clear();
}

TEST_F(HppTest, BuffersKeepTheRuntimeAlive) {
  std::optional<Runtime> runtime(std::in_place);
  std::optional<Buffer<int>> a = runtime->alloc<int>(4);
  runtime.reset();
  EXPECT_EQ(state().runtimes, 1);
  a.reset();
  EXPECT_EQ(state().runtimes, 0);
  EXPECT_THAT(state().calls, ElementsAre("Create", "MemAlloc 16", "MemFree", "Destroy"));
}

TEST_F(HppTest, BorrowedRuntimeIsNotDestroyed) {
  vramspanRuntime handle = nullptr;
  const vramspanConfig config = {};
  ASSERT_EQ(vramspanCreate(&handle, &config), CUDA_SUCCESS);
  { const Buffer<int> a = Runtime::borrow(handle).alloc<int>(1); }
  EXPECT_EQ(state().runtimes, 1);
  vramspanDestroy(handle);
}

TEST_F(HppTest, RegionsAreElements) {
  const Buffer<int> a = runtime().alloc<int>(100);
  const Region part = a.region(10, 20);
  EXPECT_EQ(part.ptr, a.ptr() + 40);
  EXPECT_EQ(part.bytes, 80u);
  EXPECT_EQ(Region(a.data() + 10, 20).ptr, part.ptr);
  EXPECT_EQ(Region(a.data() + 10, 20).bytes, 80u);
  EXPECT_NO_THROW(a.region(100, 0));
  EXPECT_THROW(a.region(90, 11), std::out_of_range);
  EXPECT_THROW(a.region(101, 0), std::out_of_range);
  EXPECT_THROW(a.region(1, ~size_t{0}), std::out_of_range);
}

TEST_F(HppTest, SubmitDeclaresAroundTheLaunch) {
  const Buffer<int> a = runtime().alloc<int>(4), b = runtime().alloc<int>(4);
  state().calls.clear();
  const int answer = runtime().submit(stream_, {read(a), write(b), readwrite(b.region(1, 2))}, [&] {
    state().calls.push_back("launch");
    return 42;
  });
  EXPECT_EQ(answer, 42);
  EXPECT_THAT(state().calls, ElementsAre("WorkBegin 3", "launch", "WorkEnd"));
  const auto& ranges = state().ranges;
  EXPECT_EQ(ranges[0].ptr, a.ptr());
  EXPECT_EQ(ranges[0].size, 16u);
  EXPECT_EQ(ranges[0].access, VRAMSPAN_READ);
  EXPECT_EQ(ranges[1].access, VRAMSPAN_WRITE);
  EXPECT_EQ(ranges[2].ptr, b.ptr() + 4);
  EXPECT_EQ(ranges[2].size, 8u);
  EXPECT_EQ(ranges[2].access, VRAMSPAN_READ | VRAMSPAN_WRITE);
}

TEST_F(HppTest, SubmitReturnsReferences) {
  int value = 0;
  int& same = runtime().submit(stream_, {}, [&]() -> int& { return value; });
  EXPECT_EQ(&same, &value);
}

TEST_F(HppTest, SubmitTellsNoMemoryFromUnknownMemory) {
  runtime().submit(stream_, {}, [] {});
  EXPECT_FALSE(state().unknown);
  runtime().submit(stream_, std::span<const vramspanRange>(), [] {});
  EXPECT_FALSE(state().unknown);
  runtime().submit(stream_, unknown, [] {});
  EXPECT_TRUE(state().unknown);
}

TEST_F(HppTest, SubmitEndsTheScopeWhateverTheLaunchThrows) {
  EXPECT_THROW(runtime().submit(stream_, unknown, [] { throw std::logic_error("launch"); }),
               std::logic_error);
  EXPECT_THROW(runtime().submit(stream_, unknown, []() -> int { throw 7; }), int);
  EXPECT_THAT(state().calls,
              ElementsAre("WorkBegin unknown", "WorkEnd", "WorkBegin unknown", "WorkEnd"));
}

TEST_F(HppTest, SubmitDoesNotLaunchWhatCouldNotBeDeclared) {
  state().fail["WorkBegin"] = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_THROW(runtime().submit(stream_, unknown, [] { FAIL() << "launched"; }), Error);
  EXPECT_THAT(state().calls, ElementsAre("WorkBegin unknown"));
}

TEST_F(HppTest, SubmitReportsAFailedEndOnce) {
  state().fail["WorkEnd"] = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_THROW(runtime().submit(stream_, unknown, [] {}), Error);
  EXPECT_THAT(state().calls, ElementsAre("WorkBegin unknown", "WorkEnd"));
}

TEST_F(HppTest, CopiesAreDeclaredAndChecked) {
  const Buffer<int> a = runtime().alloc<int>(8);
  std::vector<int> host(3);
  CUdeviceptr to = 0;
  size_t bytes = 0;
  const auto up = [&](CUdeviceptr dst, const void* src, size_t size, CUstream) {
    EXPECT_EQ(src, host.data());
    to = dst;
    bytes = size;
    return CUDA_SUCCESS;
  };
  state().calls.clear();
  runtime().upload(stream_, a, host, up, 5);
  EXPECT_EQ(to, a.ptr() + 20);
  EXPECT_EQ(bytes, 12u);
  EXPECT_EQ(state().ranges[0].access, VRAMSPAN_WRITE | VRAMSPAN_ONCE);
  EXPECT_EQ(state().ranges[0].size, 12u);
  EXPECT_THAT(state().calls, ElementsAre("WorkBegin 1", "WorkEnd"));
  EXPECT_THROW(runtime().upload(stream_, a, host, up, 6), std::out_of_range);

  const auto down = [](void*, CUdeviceptr, size_t, CUstream) { return CUDA_ERROR_ILLEGAL_ADDRESS; };
  try {
    runtime().download(stream_, host, a, down);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(error.what(), HasSubstr("download"));
  }
  EXPECT_EQ(state().ranges[0].access, VRAMSPAN_READ | VRAMSPAN_ONCE);
  EXPECT_FALSE(state().open);
}

TEST_F(HppTest, PinsAreReleasedOnce) {
  const Buffer<int> a = runtime().alloc<int>(8);
  state().calls.clear();
  {
    Pin pin = runtime().pin(a);
    Pin other = std::move(pin);
    pin = std::move(other);
  }
  EXPECT_THAT(state().calls, ElementsAre("MemPin 32", "MemUnpin 32"));
  state().fail["MemPin"] = CUDA_ERROR_OUT_OF_MEMORY;
  state().calls.clear();
  EXPECT_THROW((void)runtime().pin(a), Error);
  EXPECT_THAT(state().calls, ElementsAre("MemPin 32"));
}

TEST_F(HppTest, EverythingElseIsPassedOn) {
  const Buffer<int> a = runtime().alloc<int>(8);
  state().calls.clear();
  runtime().advise(a, Advice::streamed_once);
  runtime().prefetch(a.region(0, 4), Location::host, stream_);
  runtime().discard(a.region(4, 4), stream_);
  runtime().set_device_budget(1 << 20);
  runtime().set_host_budget(1 << 21);
  runtime().set_peer_access(2, true);
  runtime().stream_forget(stream_);
  runtime().synchronize();
  runtime().check_background();
  release_cupti();
  EXPECT_EQ(runtime().residency(a).device_bytes, 32u);
  EXPECT_EQ(runtime().statistics().allocations, 1u);
  EXPECT_THAT(state().calls, ElementsAre("MemAdvise 32 4", "MemPrefetchAsync 16 1", "MemDiscard 16",
                                         "SetDeviceBudget 1048576", "SetHostBudget 2097152",
                                         "SetPeerAccess 2 1", "StreamForget", "Synchronize",
                                         "TakeBackgroundError", "ReleaseCupti", "MemResidency 32"));
  const std::optional<Region> whole = runtime().allocation_of(a.ptr() + 5);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->ptr, a.ptr());
  EXPECT_EQ(whole->bytes, 32u);
  EXPECT_FALSE(runtime().allocation_of(5).has_value());
}

}  // namespace
}  // namespace vramspan
