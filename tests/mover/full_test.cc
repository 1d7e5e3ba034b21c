// A device or a host that is full: what cannot be had is refused with the driver's own code for it
// and a sentence, what is there stays right, and with room again everything goes on.
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

class FullTest : public MoverTest {
 protected:
  FullTest() : stream_(world_.NewStream()) {}
  ~FullTest() override { EXPECT_CU(world_.api().StreamDestroy(stream_)); }

  // Allocates and fills until memory is out, and says what was said then.
  std::string FillUp(TestRuntime& runtime) {
    for (;;) {
      CUdeviceptr p = 42;
      CUresult r = vramspanMemAlloc(runtime.get(), &p, kChunk);
      if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        // A move under way has memory on both sides.
        vramspanSynchronize(runtime.get());
        r = vramspanMemAlloc(runtime.get(), &p, kChunk);
      }
      if (r != CUDA_SUCCESS) {
        EXPECT_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(p, 42u) << "written although the call failed";
        return LastError();
      }
      Buffer b;
      b.ptr = p;
      b.words = kChunk / sizeof(Word);
      runtime.Fill(b, buffers_.size() + 1, stream_);
      buffers_.push_back(b);
    }
  }
  // Work on everything, twice, and every word looked at.
  void Check(TestRuntime& runtime) {
    for (int round = 0; round < 2; ++round) {
      for (Buffer& b : buffers_) runtime.Add(b, 1, stream_);
    }
    // Where neither side has room to swap through, moves fail and say so.
    if (vramspanSynchronize(runtime.get()) != CUDA_SUCCESS) ExpectSays(LastError(), {"host"});
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
  }
  void FreeOne(TestRuntime& runtime) {
    runtime.Free(buffers_.back());
    buffers_.pop_back();
  }
  static void ExpectSays(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }

  const Watchdog watchdog_{"a test of full memory", 60};
  const CUstream stream_;
  std::vector<Buffer> buffers_;
};

TEST_F(FullTest, BothBudgets) {
  RuntimeOptions options;
  options.host_memory = "6MiB";
  TestRuntime runtime(world_, options);
  ExpectSays(FillUp(runtime), {"device budget of 8 MiB", "host budget of 6 MiB"});
  EXPECT_EQ(buffers_.size(), 7u);
  Check(runtime);
  // Small allocations are chunks as well, and all of these are taken.
  CUdeviceptr p = 42;
  EXPECT_EQ(vramspanMemAlloc(runtime.get(), &p, 256), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(p, 42u);
  FreeOne(runtime);
  EXPECT_SPAN(vramspanMemAlloc(runtime.get(), &p, 256));
  EXPECT_SPAN(vramspanMemFree(runtime.get(), p));
  FillUp(runtime);
  EXPECT_EQ(buffers_.size(), 7u);
  Check(runtime);
}

TEST_F(FullTest, NoHostMemoryWanted) {
  RuntimeOptions options;
  options.flags = VRAMSPAN_CONFIG_NO_HOST;
  TestRuntime runtime(world_, options);
  ExpectSays(FillUp(runtime), {"device budget of 8 MiB"});
  EXPECT_EQ(buffers_.size(), 4u);
  Check(runtime);
  EXPECT_EQ(runtime.stats().host_used, 0u);
  FreeOne(runtime);
  FillUp(runtime);
  EXPECT_EQ(buffers_.size(), 4u);
  Check(runtime);
}

// The host's budget is taken away below what is in use: nothing moves for it, nothing is added.
TEST_F(FullTest, AHostBudgetOfNothing) {
  TestRuntime runtime(world_);
  buffers_ = runtime.Filled(6, kChunk, stream_);
  const uint64_t used = runtime.stats().host_used;
  EXPECT_SPAN(vramspanSetHostBudget(runtime.get(), 0));
  ExpectSays(FillUp(runtime), {"host budget of 0 MiB"});
  EXPECT_EQ(buffers_.size(), 6u);
  EXPECT_LE(runtime.stats().host_used, used);
  Check(runtime);
  EXPECT_SPAN(vramspanSetHostBudget(runtime.get(), 3 * kChunk));
  FillUp(runtime);
  EXPECT_EQ(buffers_.size(), 7u);
  Check(runtime);
}

TEST_F(FullTest, TheMachineHasLessThanTheHostBudget) {
  TestRuntime runtime(world_);
  buffers_ = runtime.Filled(6, kChunk, stream_);
  world_.set_host_memory(static_cast<unsigned long long>(world_.memory_used(-1)));
  ExpectSays(FillUp(runtime), {"device budget", "cuMemCreate", "CUDA_ERROR_OUT_OF_MEMORY", "host"});
  const size_t most = buffers_.size();
  Check(runtime);
  world_.set_host_memory(size_t{1} << 30);
  Buffer b = runtime.Alloc(kChunk);
  runtime.Fill(b, 77, stream_);
  buffers_.push_back(b);
  EXPECT_EQ(buffers_.size(), most + 1);
  Check(runtime);
}

TEST_F(FullTest, TheMachineHasNoRoomForWhatShouldLeave) {
  TestRuntime runtime(world_);
  buffers_ = runtime.Filled(3, kChunk, stream_);
  const auto move = [&](size_t buffer, vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime.get(), buffers_[buffer].ptr, kChunk, to, stream_));
  };
  move(0, VRAMSPAN_LOCATION_HOST);  // What moving itself takes is there from now on.
  runtime.Synchronize();
  world_.set_host_memory(static_cast<unsigned long long>(world_.memory_used(-1)));
  move(1, VRAMSPAN_LOCATION_HOST);
  move(2, VRAMSPAN_LOCATION_HOST);
  EXPECT_EQ(vramspanSynchronize(runtime.get()), CUDA_ERROR_OUT_OF_MEMORY);
  ExpectSays(LastError(),
             {"host memory is short, so some memory cannot leave", "free host memory"});
  EXPECT_EQ(runtime.OnDevice(buffers_[2]), kChunk);
  Check(runtime);
  world_.set_host_memory(size_t{1} << 30);
  move(2, VRAMSPAN_LOCATION_HOST);
  runtime.Synchronize();
  EXPECT_EQ(runtime.OnDevice(buffers_[2]), 0u);
  Check(runtime);
}

// Copies that are only kept to save another give way to what has no place else.
TEST_F(FullTest, HostCopiesOfWhatIsOnTheDevice) {
  RuntimeOptions options;
  options.host_memory = "6MiB";
  TestRuntime runtime(world_, options);
  buffers_ = runtime.Filled(4, kChunk, stream_);
  for (const Buffer& b : buffers_) {
    EXPECT_SPAN(vramspanMemAdvise(runtime.get(), b.ptr, kChunk, VRAMSPAN_ADVISE_READ_MOSTLY));
    for (const auto to : {VRAMSPAN_LOCATION_HOST, VRAMSPAN_LOCATION_DEVICE}) {
      EXPECT_SPAN(vramspanMemPrefetchAsync(runtime.get(), b.ptr, kChunk, to, stream_));
    }
    runtime.Synchronize();
  }
  EXPECT_EQ(runtime.stats().device_used, 4 * kChunk);
  EXPECT_EQ(runtime.stats().host_used, 3 * kChunk);
  FillUp(runtime);
  EXPECT_EQ(buffers_.size(), 7u);
  Check(runtime);
}

// What came and left again unused is counted: such moves are for nothing.
TEST_F(FullTest, WhatCameInVain) {
  TestRuntime runtime(world_);
  buffers_ = runtime.Filled(4, kChunk, stream_);
  const auto move = [&](vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime.get(), buffers_[0].ptr, kChunk, to, stream_));
    runtime.Synchronize();
  };
  move(VRAMSPAN_LOCATION_HOST);
  EXPECT_EQ(runtime.stats().fetches_unused, 0u) << "it never came";
  for (int i = 0; i < 3; ++i) {
    move(VRAMSPAN_LOCATION_DEVICE);
    move(VRAMSPAN_LOCATION_HOST);
  }
  EXPECT_EQ(runtime.stats().fetches_unused, 3u);
  move(VRAMSPAN_LOCATION_DEVICE);
  runtime.Fill(buffers_[0], 77, stream_);
  move(VRAMSPAN_LOCATION_HOST);
  EXPECT_EQ(runtime.stats().fetches_unused, 3u);
  EXPECT_EQ(runtime.stats().fetches, 4u);
  Check(runtime);
}

// Others have taken what the device budget promises: the host serves.
TEST_F(FullTest, TheDeviceHasLessThanItsBudget) {
  TestRuntime runtime(world_);
  world_.set_device_memory(0, static_cast<unsigned long long>(world_.memory_used(0)) + 2 * kChunk);
  for (int i = 0; i < 4; ++i) {
    buffers_.push_back(runtime.Alloc(kChunk));
    runtime.Fill(buffers_.back(), static_cast<Word>(i) + 1, stream_);
  }
  Check(runtime);
  EXPECT_LE(runtime.stats().device_used, 2 * kChunk);
  world_.set_device_memory(0, size_t{1} << 30);
  Check(runtime);
}

}  // namespace
}  // namespace vramspan_test
