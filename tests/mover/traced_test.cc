// A program that declares nothing, on the simulated driver, with the launch tracer: what it
// launches and copies is work that the runtime knows, memory moves, and contents are right.
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "tests/mover/world.h"

namespace {

// Allocations of the thread that wants them counted.
thread_local long long allocations = -1;

}  // namespace

__attribute__((noinline)) void* operator new(size_t size) {
  if (allocations >= 0) ++allocations;
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
// As the library has it, but a sanitizer's would not be freed here.
__attribute__((noinline)) void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace vramspan_test {
namespace {

constexpr size_t kRoom = 4;  // Chunks; every buffer has one.

class Traced : public MoverTest, public testing::WithParamInterface<const char*> {
 protected:
  Traced() : stream_(world_.NewStream()) {}
  ~Traced() override {
    if (runtime_ == nullptr) return;
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  void Start(size_t buffers, const char* device_memory = "8MiB") {
    RuntimeOptions options;
    options.device_memory = device_memory;
    options.deadline_us = 5'000'000;
    options.tracer = "cupti";
    options.overlap = GetParam();
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    for (size_t i = 0; i < buffers; ++i) {
      buffers_.push_back(runtime_->Alloc(kChunk));
      buffers_.back().seed = i + 1;
      EXPECT_CU(world_.LaunchFill(buffers_.back(), stream_));
    }
  }
  void Add(size_t i, Word value, CUstream stream) {
    EXPECT_CU(world_.LaunchAdd(buffers_[i], value, stream));
    buffers_[i].add += value;
  }
  bool OnDevice(size_t i) const { return runtime_->OnDevice(buffers_[i]) == kChunk; }

  CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};
INSTANTIATE_TEST_SUITE_P(Overlap, Traced, testing::Values("off", "safe", "all"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Traced, KernelFindsItsMemoryOnTheDevice) {
  ASSERT_NO_FATAL_FAILURE(Start(2 * kRoom));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Add(i, i + 1, stream_);
      if (i % 3 != 0) continue;
      runtime_->Synchronize();
      EXPECT_TRUE(round != 0 || OnDevice(i)) << "buffer " << i;
    }
  }
  runtime_->Synchronize();
  const vramspanStatistics s = runtime_->stats();
  EXPECT_GT(s.evictions, 0u);
  // But for what was left on the host to see what that costs, and then because it costs little.
  EXPECT_EQ(s.works_in_place == 0, s.trials == 0);
  EXPECT_GE(s.launches, buffers_.size());
  EXPECT_EQ(s.launches_unknown, 0u);
}

TEST_P(Traced, LegacyAndPerThreadStreamsAreWorkLikeAnyOther) {
  ASSERT_NO_FATAL_FAILURE(Start(2 * kRoom));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      EXPECT_CU(world_.api().StreamSynchronize(stream_));
      Add(i, 3, i % 2 == 0 ? nullptr : CU_STREAM_PER_THREAD);
      EXPECT_CU(world_.api().StreamSynchronize(i % 2 == 0 ? nullptr : CU_STREAM_PER_THREAD));
    }
  }
  runtime_->Synchronize();
  EXPECT_GT(runtime_->stats().evictions, 0u);
}

TEST_P(Traced, CopiesAreServedWhereTheirMemoryIs) {
  ASSERT_NO_FATAL_FAILURE(Start(2 * kRoom));
  runtime_->Synchronize();
  const vramspanStatistics before = runtime_->stats();
  std::vector<Word> words(kChunk / sizeof(Word));
  for (size_t i = 0; i < buffers_.size(); ++i) {
    EXPECT_CU(world_.api().MemcpyDtoHAsync(words.data(), buffers_[i].ptr, kChunk, stream_));
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    EXPECT_EQ(words[5], HashWord(5, buffers_[i].seed));
  }
  runtime_->Synchronize();
  EXPECT_EQ(runtime_->stats().fetches, before.fetches);
  EXPECT_GT(runtime_->stats().works, before.works);
}

TEST_P(Traced, StreamThatWasDestroyedIsForgotten) {
  ASSERT_NO_FATAL_FAILURE(Start(kRoom / 2));
  const CUstream gone = world_.NewStream();
  Add(0, 1, gone);
  EXPECT_CU(world_.api().StreamSynchronize(gone));
  EXPECT_CU(world_.api().StreamDestroy(gone));
  for (size_t i = buffers_.size(); i < 2 * kRoom; ++i) {
    buffers_.push_back(runtime_->Alloc(kChunk));
    buffers_.back().seed = i + 1;
    EXPECT_CU(world_.LaunchFill(buffers_.back(), stream_));
  }
  for (size_t i = 0; i < buffers_.size(); ++i) Add(i, 2, stream_);
  runtime_->Synchronize();
  EXPECT_EQ(runtime_->stats().unsettled_streams, 0u);
  EXPECT_GT(runtime_->stats().evictions, 0u);
}

// Streams that carried work while memory sufficed, and none since, keep nothing where it is.
TEST_P(Traced, StreamsFromBeforeSettleByThemselves) {
  ASSERT_NO_FATAL_FAILURE(Start(kRoom / 2));
  const CUstream idle = world_.NewStream();
  Add(0, 1, idle);
  for (size_t i = buffers_.size(); i < 2 * kRoom; ++i) {
    buffers_.push_back(runtime_->Alloc(kChunk));
    buffers_.back().seed = i + 1;
    EXPECT_CU(world_.LaunchFill(buffers_.back(), stream_));
  }
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 1; i < buffers_.size(); ++i) Add(i, 2, stream_);
  }
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  EXPECT_GT(runtime_->stats().evictions, 0u);
  EXPECT_CU(world_.api().StreamDestroy(idle));
}

// A program that waits for each launch queues nothing ahead: that it goes round in a loop larger
// than the budget is seen from what came before, and part of the loop stays.
TEST_P(Traced, LoopIsForeseen) {
  ASSERT_NO_FATAL_FAILURE(Start(kRoom + 2));
  runtime_->Synchronize();
  constexpr uint64_t kRounds = 30;
  uint64_t after_some = 0;
  for (uint64_t round = 0; round < kRounds; ++round) {
    if (round == kRounds / 3) after_some = runtime_->stats().fetches;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Add(i, 1, stream_);
      EXPECT_CU(world_.api().StreamSynchronize(stream_));
    }
  }
  const vramspanStatistics s = runtime_->stats();
  const uint64_t launches = (kRounds - kRounds / 3) * buffers_.size();
  EXPECT_GT(s.forecast_hits, launches / 2);
  // Least recently used first, every launch would miss.
  EXPECT_LT(s.fetches - after_some, launches * 8 / 10);
}

TEST_P(Traced, ThreadsAndStreams) {
  ASSERT_NO_FATAL_FAILURE(Start(2 * kRoom));
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      const CUstream streams[] = {world_.NewStream(), world_.NewStream()};
      for (int round = 0; round < 40; ++round) {
        // Each thread has two buffers, each buffer one stream.
        for (size_t k = 0; k < 2; ++k) Add(2 * t + k, 1, streams[k]);
      }
      for (const CUstream s : streams) {
        EXPECT_CU(world_.api().StreamSynchronize(s));
        EXPECT_CU(world_.api().StreamDestroy(s));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(runtime_->stats().evictions, 0u);
}

// With no pressure: nothing but the program's own calls reaches the driver from the launch path,
// and nothing is allocated there.
TEST_P(Traced, CostsNoCallAndNoAllocationWhileMemorySuffices) {
  constexpr int kLaunches = 1000;
  const CUfunction kernel = world_.Kernel("add_constant");
  const auto launch = [&](CUdeviceptr words) {
    size_t count = 256;
    Word value = 1;
    void* list[] = {&words, &count, &value};
    allocations = 0;
    for (int n = 0; n < kLaunches; ++n) {
      EXPECT_CU(world_.api().LaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream_, list, nullptr));
    }
    return std::exchange(allocations, -1);
  };
  // Of the runtime's table, all that a launch could make.
  const auto calls = [&] {
    long long n = 0;
    for (const char* name :
         {"cuStreamWaitValue32_v2", "cuStreamWriteValue32_v2", "cuStreamIsCapturing",
          "cuCtxGetCurrent", "cuEventRecord", "cuMemMap", "cuMemUnmap", "cuMemSetAccess",
          "cuCtxPushCurrent_v2", "cuThreadExchangeStreamCaptureMode", "cuKernelGetParamInfo",
          "cuFuncGetParamInfo"}) {
      n += world_.call_count(name);
    }
    return n;
  };
  CUdeviceptr plain = 0;
  ASSERT_CU(world_.api().MemAlloc(&plain, 256 * sizeof(Word)));
  launch(plain);
  const long long without = launch(plain);  // The simulated driver's own.
  ASSERT_NO_FATAL_FAILURE(Start(kRoom, "64MiB"));
  launch(buffers_[0].ptr);
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  const long long before = calls();
  const vramspanStatistics quiet = runtime_->stats();
  const long long with = launch(buffers_[0].ptr);
  EXPECT_EQ(calls(), before);
  EXPECT_LT(with - without, kLaunches / 10);
  EXPECT_EQ(runtime_->stats().works, quiet.works);
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  // The first words of the buffer have been added to; what is behind them has not.
  EXPECT_CU(world_.LaunchFill(buffers_[0], stream_));
  EXPECT_CU(world_.api().MemFree(plain));
}

// Up to the last byte of the budget.
TEST_P(Traced, CostsTheDeviceNothingWhileAllFits) {
  ASSERT_NO_FATAL_FAILURE(Start(kRoom));
  const auto marks = [&] {
    return world_.call_count("cuStreamWaitValue32_v2") +
           world_.call_count("cuStreamWriteValue32_v2") + world_.call_count("cuStreamIsCapturing");
  };
  const auto before = marks();
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < kRoom; ++i) Add(i, 1, stream_);
  }
  runtime_->Synchronize();
  EXPECT_EQ(marks(), before);
  EXPECT_EQ(runtime_->stats().works, 0u);
  // One chunk more, and what was there before may leave for it.
  buffers_.push_back(runtime_->Alloc(kChunk));
  buffers_.back().seed = kRoom + 1;
  EXPECT_CU(world_.LaunchFill(buffers_.back(), stream_));
  Add(kRoom, 1, stream_);
  runtime_->Synchronize();
  EXPECT_GT(marks(), before);
  EXPECT_TRUE(OnDevice(kRoom));
  EXPECT_EQ(runtime_->stats().evictions, 1u);
}

}  // namespace
}  // namespace vramspan_test
