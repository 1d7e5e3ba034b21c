// Placement by hand: every advice does something that can be seen, pins hold, prefetches move,
// budgets are kept up and down while work runs, and contents are right throughout.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kPlacementBudget = 4;  // Chunks; every buffer has one.

class PlacementTest : public MoverTest {
 protected:
  PlacementTest() : stream_(world_.NewStream()) {}
  ~PlacementTest() override {
    if (runtime_ == nullptr) return;
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  void Start(size_t buffers, const char* host_memory = "1GiB") {
    RuntimeOptions options;
    options.host_memory = host_memory;
    // No deadline of a busy machine is to have a say in where memory ends up.
    options.deadline_us = 5'000'000;
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    buffers_ = runtime_->Filled(buffers, kChunk, stream_);
  }
  vramspanRuntime get() const { return runtime_->get(); }
  vramspanResidency At(size_t i) const {
    vramspanResidency r{};
    EXPECT_SPAN(vramspanMemResidency(get(), buffers_[i].ptr, kChunk, &r));
    EXPECT_EQ(r.device_bytes + r.host_bytes, kChunk);
    return r;
  }
  bool OnDevice(size_t i) const { return At(i).device_bytes == kChunk; }
  void Prefetch(size_t i, vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(get(), buffers_[i].ptr, kChunk, to, stream_));
    runtime_->Synchronize();
  }
  void Advise(size_t i, vramspanAdvice advice) {
    EXPECT_SPAN(vramspanMemAdvise(get(), buffers_[i].ptr, kChunk, advice));
  }
  void Write(size_t i) {
    runtime_->Add(buffers_[i], 1, stream_);
    runtime_->Synchronize();
  }
  void Read(size_t i) {
    runtime_->Begin(stream_, {buffers_[i].range(VRAMSPAN_READ | VRAMSPAN_KERNELS_ONLY)});
    EXPECT_CU(world_.LaunchChecksum(buffers_[i], sums_.address(), stream_));
    runtime_->End(stream_);
    runtime_->Synchronize();
  }
  // Puts the buffers of `on_device` there, and every other to the host.
  void Arrange(const std::vector<size_t>& on_device) {
    const auto stays = [&](size_t i) {
      return std::find(on_device.begin(), on_device.end(), i) != on_device.end();
    };
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!stays(i)) Prefetch(i, VRAMSPAN_LOCATION_HOST);
    }
    for (const size_t i : on_device) Prefetch(i, VRAMSPAN_LOCATION_DEVICE);
    for (size_t i = 0; i < buffers_.size(); ++i) ASSERT_EQ(OnDevice(i), stays(i)) << i;
  }

  const Watchdog watchdog_{"a test of placement by hand", 60};
  const CUstream stream_;
  const HostFlag sums_{world_};
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};

TEST_F(PlacementTest, PrefetchMovesBothWays) {
  Start(6);
  Arrange({0, 1, 2, 3});
  const vramspanStatistics before = runtime_->stats();
  Arrange({2, 3, 4, 5});
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(after.fetches - before.fetches, 2u);
  EXPECT_EQ(after.evictions - before.evictions, 2u);
  EXPECT_EQ(after.bytes_in - before.bytes_in, 2 * kChunk);
}

// Part of a chunk moves all of it; past the end of an allocation nothing moves.
TEST_F(PlacementTest, PrefetchIsClippedAndRoundedToChunks) {
  Start(6);
  Arrange({0, 1, 2});
  EXPECT_SPAN(vramspanMemPrefetchAsync(get(), buffers_[3].ptr + kChunk - 1, ~size_t{0},
                                       VRAMSPAN_LOCATION_DEVICE, stream_));
  runtime_->Synchronize();
  EXPECT_TRUE(OnDevice(3));
  for (const size_t i : {4, 5}) EXPECT_FALSE(OnDevice(i));
}

TEST_F(PlacementTest, KeptOnTheDevice) {
  Start(6);
  Arrange({0, 1, 2, 3});
  Advise(0, VRAMSPAN_ADVISE_KEEP_ON_DEVICE);
  for (int round = 0; round < 3; ++round) {
    for (const size_t i : {1, 2, 3, 4, 5}) Write(i);
    EXPECT_TRUE(OnDevice(0)) << "others were used more recently, but it is to stay";
  }
  // Fetched when it is next used, not before.
  Arrange({1, 2, 3});
  EXPECT_FALSE(OnDevice(0));
  Write(0);
  EXPECT_TRUE(OnDevice(0));
  // Taken back: it leaves like any other.
  Advise(0, VRAMSPAN_ADVISE_NONE);
  for (const size_t i : {1, 2, 3, 4, 5}) Write(i);
  EXPECT_FALSE(OnDevice(0));
}

TEST_F(PlacementTest, PreferredOnTheHost) {
  Start(6);
  Arrange({0, 1, 2, 3});
  Advise(3, VRAMSPAN_ADVISE_PREFER_HOST);
  Write(3);  // The most recently used, and the first to leave all the same.
  EXPECT_TRUE(OnDevice(3)) << "nothing asks for its room yet";
  Write(4);
  EXPECT_FALSE(OnDevice(3));
  for (const size_t i : {0, 1, 2, 4}) EXPECT_TRUE(OnDevice(i)) << i;
  const vramspanStatistics before = runtime_->stats();
  for (int i = 0; i < 3; ++i) Write(3);
  const vramspanStatistics after = runtime_->stats();
  EXPECT_FALSE(OnDevice(3)) << "served in place";
  EXPECT_EQ(after.fetches, before.fetches);
  EXPECT_EQ(after.works_in_place - before.works_in_place, 3u);
  EXPECT_EQ(after.bytes_in_place - before.bytes_in_place, 3 * kChunk);
  Advise(3, VRAMSPAN_ADVISE_NONE);
  Write(3);
  EXPECT_TRUE(OnDevice(3));
}

TEST_F(PlacementTest, StreamedOnce) {
  Start(6);
  Arrange({0, 1, 2, 3});
  Advise(5, VRAMSPAN_ADVISE_STREAMED_ONCE);
  const vramspanStatistics before = runtime_->stats();
  for (int i = 0; i < 3; ++i) Read(5);
  const vramspanStatistics after = runtime_->stats();
  EXPECT_FALSE(OnDevice(5));
  EXPECT_EQ(after.fetches, before.fetches);
  EXPECT_EQ(after.works_in_place - before.works_in_place, 3u);
  EXPECT_EQ(after.bytes_in_place - before.bytes_in_place, 3 * kChunk);
  // A request is more than advice.
  Prefetch(5, VRAMSPAN_LOCATION_DEVICE);
  EXPECT_TRUE(OnDevice(5));
  Prefetch(5, VRAMSPAN_LOCATION_HOST);
  EXPECT_FALSE(OnDevice(5));
  EXPECT_SPAN(vramspanMemPin(get(), buffers_[5].ptr, kChunk));
  EXPECT_TRUE(OnDevice(5));
  EXPECT_SPAN(vramspanMemUnpin(get(), buffers_[5].ptr, kChunk));
}

// The host's room is short, so that no copy is kept there but by advice.
TEST_F(PlacementTest, ReadMostlyLeavesWithoutACopy) {
  Start(6, "14MiB");
  Advise(0, VRAMSPAN_ADVISE_READ_MOSTLY);
  const auto round_trip = [&](size_t i, const std::function<void()>& use) {
    Prefetch(i, VRAMSPAN_LOCATION_HOST);
    Prefetch(i, VRAMSPAN_LOCATION_DEVICE);
    use();
    const vramspanStatistics before = runtime_->stats();
    Prefetch(i, VRAMSPAN_LOCATION_HOST);
    EXPECT_FALSE(OnDevice(i));
    const vramspanStatistics after = runtime_->stats();
    EXPECT_EQ(after.evictions - before.evictions, 1u);
    EXPECT_EQ(after.bytes_out + after.bytes_out_clean,
              before.bytes_out + before.bytes_out_clean + kChunk);
    return after.bytes_out_clean - before.bytes_out_clean;
  };
  Arrange({0, 1, 2, 3});
  EXPECT_EQ(round_trip(0,
                       [&] {
                         Read(0);
                         EXPECT_EQ(At(0).twin_bytes, kChunk);
                       }),
            kChunk)
      << "only read since it was fetched";
  EXPECT_EQ(round_trip(0,
                       [&] {
                         Write(0);
                         EXPECT_EQ(At(0).twin_bytes, 0u);
                       }),
            0u)
      << "written since it was fetched";
  // Work that may have written anything.
  EXPECT_EQ(round_trip(0,
                       [&] {
                         EXPECT_SPAN(vramspanWorkBegin(get(), stream_, nullptr, 0));
                         EXPECT_SPAN(vramspanWorkEnd(get(), stream_));
                         runtime_->Synchronize();
                       }),
            0u)
      << "unknown work since it was fetched";
  EXPECT_EQ(round_trip(1, [&] { Read(1); }), 0u) << "without the advice";
}

TEST_F(PlacementTest, PinsHoldAndCount) {
  Start(6);
  Arrange({1, 2, 3});
  const Buffer& b = buffers_[0];
  EXPECT_SPAN(vramspanMemPin(get(), b.ptr, kChunk));
  EXPECT_TRUE(OnDevice(0)) << "fetched by the pin";
  EXPECT_EQ(At(0).pinned_bytes, kChunk);
  EXPECT_SPAN(vramspanMemPin(get(), b.ptr + 1, 1)) << "the chunk, once more";
  const auto press = [&] {
    for (const size_t i : {1, 2, 3, 4, 5}) Write(i);
    Prefetch(0, VRAMSPAN_LOCATION_HOST);
  };
  press();
  EXPECT_TRUE(OnDevice(0));
  EXPECT_SPAN(vramspanMemUnpin(get(), b.ptr, kChunk));
  press();
  EXPECT_TRUE(OnDevice(0)) << "pinned once still";
  EXPECT_SPAN(vramspanMemUnpin(get(), b.ptr, kChunk));
  press();
  EXPECT_FALSE(OnDevice(0));
  EXPECT_EQ(At(0).pinned_bytes, 0u);
}

TEST_F(PlacementTest, PinsAreAllOrNothing) {
  Start(6);
  for (size_t i = 0; i < kPlacementBudget - 1; ++i) {
    EXPECT_SPAN(vramspanMemPin(get(), buffers_[i].ptr, kChunk));
  }
  // Of two chunks, for one of which there is room.
  Buffer large = runtime_->Alloc(2 * kChunk);
  runtime_->Fill(large, 9, stream_);
  EXPECT_EQ(vramspanMemPin(get(), large.ptr, large.bytes()), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(LastError().find("device budget of 8388608"), std::string::npos) << LastError();
  vramspanResidency r{};
  EXPECT_SPAN(vramspanMemResidency(get(), large.ptr, large.bytes(), &r));
  EXPECT_EQ(r.pinned_bytes, 0u);
  EXPECT_EQ(vramspanMemUnpin(get(), large.ptr, large.bytes()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_SPAN(vramspanMemUnpin(get(), buffers_[0].ptr, kChunk));
  EXPECT_SPAN(vramspanMemPin(get(), large.ptr, large.bytes()));
  EXPECT_EQ(world_.Wrong(large), "");
  // Freed with its pins.
  runtime_->Free(large);
  for (size_t i = 1; i < kPlacementBudget - 1; ++i) {
    EXPECT_SPAN(vramspanMemUnpin(get(), buffers_[i].ptr, kChunk));
  }
}

TEST_F(PlacementTest, BudgetsAreKeptWhileWorkRuns) {
  Start(6);
  const size_t budgets[] = {2, 4, 1, 3, 6, 2, 5, 4};
  for (const size_t chunks : budgets) {
    for (Buffer& b : buffers_) runtime_->Add(b, 1, stream_);
    EXPECT_SPAN(vramspanSetDeviceBudget(get(), chunks * kChunk));
    for (Buffer& b : buffers_) runtime_->Add(b, 1, stream_);
    runtime_->Synchronize();
    // What is over the budget leaves as soon as nothing uses it.
    for (int i = 0; i < 2000 && runtime_->stats().device_used > chunks * kChunk; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const vramspanStatistics s = runtime_->stats();
    EXPECT_EQ(s.device_budget, chunks * kChunk);
    EXPECT_LE(s.device_used, chunks * kChunk);
    EXPECT_LE(s.device_used + s.device_cached, chunks * kChunk);
  }
}

TEST_F(PlacementTest, ResidencyAndAddressRange) {
  Start(6);
  Arrange({0, 1, 2, 3});
  Buffer large = runtime_->Alloc(5 * kChunk - 1000);
  vramspanResidency r{};
  EXPECT_SPAN(vramspanMemResidency(get(), large.ptr, large.bytes(), &r));
  EXPECT_EQ(r.device_bytes + r.host_bytes, large.bytes());
  EXPECT_SPAN(vramspanMemResidency(get(), large.ptr + kChunk - 10, 20, &r));
  EXPECT_EQ(r.device_bytes + r.host_bytes, 20u) << "across two chunks";
  EXPECT_SPAN(vramspanMemResidency(get(), large.ptr, 0, &r));
  EXPECT_EQ(r.device_bytes + r.host_bytes, 0u);
  for (const size_t size : {large.bytes() * 2, ~size_t{0}}) {
    EXPECT_SPAN(vramspanMemResidency(get(), large.ptr + kChunk, size, &r));
    EXPECT_EQ(r.device_bytes + r.host_bytes, large.bytes() - kChunk) << "clipped from " << size;
  }
  CUdeviceptr base = 0, small = 0;
  size_t size = 0;
  for (const size_t offset : {size_t{0}, kChunk, large.bytes() - 1}) {
    EXPECT_SPAN(vramspanMemGetAddressRange(get(), &base, &size, large.ptr + offset));
    EXPECT_EQ(base, large.ptr);
    EXPECT_EQ(size, 5 * kChunk - 1000);
  }
  EXPECT_SPAN(vramspanMemAlloc(get(), &small, 300));
  EXPECT_SPAN(vramspanMemGetAddressRange(get(), &base, &size, small + 299));
  EXPECT_EQ(base, small);
  EXPECT_GE(size, 300u);
  EXPECT_LE(size, 512u);
  EXPECT_SPAN(vramspanMemFree(get(), small));
  runtime_->Free(large);
}

// Large chunks have their fingerprint taken: work that might have written one and did not costs no
// copy when the chunk leaves.
TEST_F(MoverTest, FingerprintsTellWhatWasWritten) {
  constexpr size_t kLarge = 8 * kMiB;
  RuntimeOptions options;
  options.chunk = "8MiB";
  options.device_memory = "32MiB";
  options.deadline_us = 5'000'000;
  TestRuntime runtime(world_, options);
  const CUstream stream = world_.NewStream();
  std::vector<Buffer> buffers = runtime.Filled(6, kLarge, stream);
  Buffer& b = buffers[0];
  const auto move = [&](vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime.get(), b.ptr, kLarge, to, stream));
    runtime.Synchronize();
    EXPECT_EQ(runtime.OnDevice(b), to == VRAMSPAN_LOCATION_DEVICE ? kLarge : 0u);
  };
  // Bytes that left without a copy.
  const auto leave_after = [&](const std::function<void()>& work) {
    move(VRAMSPAN_LOCATION_HOST);
    move(VRAMSPAN_LOCATION_DEVICE);
    EXPECT_SPAN(vramspanWorkBegin(runtime.get(), stream, nullptr, 0));
    work();
    EXPECT_SPAN(vramspanWorkEnd(runtime.get(), stream));
    runtime.Synchronize();
    const uint64_t before = runtime.stats().bytes_out_clean;
    move(VRAMSPAN_LOCATION_HOST);
    return runtime.stats().bytes_out_clean - before;
  };
  EXPECT_EQ(leave_after([] {}), kLarge);
  EXPECT_EQ(leave_after([&] {
              EXPECT_CU(world_.LaunchAdd(b, 1, stream));
              b.add += 1;
            }),
            0u);
  EXPECT_EQ(leave_after([] {}), kLarge);
  for (const Buffer& each : buffers) EXPECT_EQ(world_.Wrong(each), "");
  EXPECT_SPAN(runtime.Destroy());
  EXPECT_CU(world_.api().StreamDestroy(stream));
}

}  // namespace
}  // namespace vramspan_test
