// Fingerprints behind a program's own launches: what kernels may have written and did not costs no
// copy when it leaves, while the device is never idle.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kLarge = 8 * kMiB;
constexpr size_t kPlaces = 5;  // For so many on the device.

class TracedPrints : public MoverTest {
 protected:
  TracedPrints() : flag_(world_), stream_(world_.NewStream()), busy_(world_.NewStream()) {
    RuntimeOptions options;
    options.chunk = "8MiB";
    options.device_memory = "40MiB";
    options.deadline_us = 5'000'000;
    options.tracer = "cupti";
    options.overlap = "safe";
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    for (size_t i = 0; i < 8; ++i) {
      buffers_.push_back(runtime_->Alloc(kLarge));
      buffers_.back().seed = i + 1;
    }
    // Once memory is short: what fills them is recorded.
    for (const Buffer& b : buffers_) EXPECT_CU(world_.LaunchFill(b, stream_));
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    // A stream's first work may wait for all other: what notes it is made then.
    EXPECT_CU(world_.LaunchAdd(buffers_[0], 0, busy_));
    EXPECT_CU(world_.api().StreamSynchronize(busy_));
    // Work that is in flight for as long as the flag is down.
    EXPECT_CU(flag_.SpinIn(busy_, 1));
    EXPECT_CU(world_.LaunchAdd(buffers_[0], 1, busy_));
    buffers_[0].add += 1;
  }
  ~TracedPrints() override {
    flag_.Set(1);
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
    EXPECT_CU(world_.api().StreamDestroy(busy_));
  }
  // A round over all but the first, each waited for.
  void Round(Word value) {
    for (size_t i = 1; i < buffers_.size(); ++i) {
      EXPECT_CU(world_.LaunchAdd(buffers_[i], value, stream_));
      buffers_[i].add += value;
      EXPECT_CU(world_.api().StreamSynchronize(stream_));
    }
  }
  // Of four times `body`, which evicts so often: what stayed for some rounds leaves with a copy
  // once more, so there may be `most`. On a busy machine other chunks stay now and then; then the
  // next four times count.
  template <typename Body>
  void ExpectFewCopies(uint64_t evictions, uint64_t most, Body&& body) {
    constexpr int kTries = 3;
    for (int i = 1;; ++i) {
      const vramspanStatistics before = runtime_->stats();
      for (int j = 0; j < 4; ++j) body();
      const vramspanStatistics after = runtime_->stats();
      ASSERT_GE(after.evictions, before.evictions + evictions);
      if (after.bytes_out <= before.bytes_out + most * kLarge) return;
      ASSERT_LT(i, kTries) << after.bytes_out - before.bytes_out << " bytes were copied";
    }
  }

  HostFlag flag_;
  CUstream stream_, busy_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};

TEST_F(TracedPrints, WhatWasNotWrittenLeavesWithoutACopy) {
  for (int i = 0; i < 4; ++i) Round(0);
  ExpectFewCopies(8, 2, [&] { Round(0); });
}

// A program that is laps ahead of the device has asked for the fingerprints of all of them before
// the first has run.
TEST_F(TracedPrints, WhatIsNotWrittenLapAfterLapLeavesWithoutACopy) {
  for (int i = 0; i < 4; ++i) Round(0);
  const auto laps = [&] {
    for (int lap = 0; lap < 5; ++lap) {
      for (size_t i = 1; i < buffers_.size(); ++i) {
        EXPECT_CU(world_.LaunchAdd(buffers_[i], 0, stream_));
      }
    }
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
  };
  for (int i = 0; i < 2; ++i) laps();
  ExpectFewCopies(20, 2, laps);
}

// Nothing is ever waited for: which fingerprints tell something is not known before work is let go.
TEST_F(TracedPrints, WhatIsNotWrittenLeavesWithTwoCopiesAtMost) {
  // What a fingerprint has seen written, as by what filled it, has none for its next fetches.
  for (int i = 0; i < 6; ++i) Round(0);
  const vramspanStatistics before = runtime_->stats();
  for (int lap = 0; lap < 24; ++lap) {
    for (size_t i = 1; i < buffers_.size(); ++i) {
      EXPECT_CU(world_.LaunchAdd(buffers_[i], 0, stream_));
    }
  }
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  const vramspanStatistics after = runtime_->stats();
  EXPECT_GE(after.evictions, before.evictions + 70);
  // 54 of a hundred where fingerprints are decided on at submission.
  EXPECT_LE(after.bytes_out, before.bytes_out + 2 * buffers_.size() * kLarge);
}

// Two launches into one chunk, one behind the other, as for two arrays that share it.
TEST_F(TracedPrints, WhatTwoLaunchesLeaveIsToldByTheSecond) {
  const auto round = [&](Word second) {
    for (size_t i = 1; i < buffers_.size(); ++i) {
      // Both are let go before either has run.
      EXPECT_CU(world_.LaunchAdd(buffers_[i], 0, stream_));
      EXPECT_CU(world_.LaunchAdd(buffers_[i], second, stream_));
      buffers_[i].add += second;
      EXPECT_CU(world_.api().StreamSynchronize(stream_));
    }
  };
  for (int i = 0; i < 5; ++i) round(0);
  ExpectFewCopies(8, 4, [&] { round(0); });
  const vramspanStatistics before = runtime_->stats();
  round(1);
  round(0);
  EXPECT_GT(runtime_->stats().bytes_out, before.bytes_out);
}

TEST_F(TracedPrints, WhatWasWrittenIsCopied) {
  for (int i = 0; i < 4; ++i) Round(0);
  Round(1);
  const vramspanStatistics before = runtime_->stats();
  Round(0);
  EXPECT_GT(runtime_->stats().bytes_out, before.bytes_out);
}

// Work that may write anywhere is under way before a launch and writes after it: the fingerprint
// between them says nothing.
TEST_F(TracedPrints, WhatUnknownWorkWritesBehindOneIsKept) {
  for (int i = 0; i < 4; ++i) Round(0);
  EXPECT_SPAN(vramspanWorkBegin(runtime_->get(), busy_, nullptr, 0));
  for (size_t i = 1; i < buffers_.size(); ++i) {
    EXPECT_CU(world_.LaunchAdd(buffers_[i], 1, busy_));
    buffers_[i].add += 1;
  }
  EXPECT_SPAN(vramspanWorkEnd(runtime_->get(), busy_));
  int launched = 0;
  for (size_t i = 1; i < buffers_.size(); ++i) {
    if (runtime_->OnDevice(buffers_[i]) != kLarge) continue;
    EXPECT_CU(world_.LaunchAdd(buffers_[i], 0, stream_));
    ++launched;
  }
  EXPECT_GT(launched, 0);
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  flag_.Set(1);
  EXPECT_CU(world_.api().StreamSynchronize(busy_));
  for (const Buffer& b : buffers_) {
    EXPECT_SPAN(
        vramspanMemPrefetchAsync(runtime_->get(), b.ptr, kLarge, VRAMSPAN_LOCATION_HOST, stream_));
  }
}

// Launches that find all of the device's memory in use, until the driver would take no more.
class TracedPrintsHeld : public TracedPrints {
 protected:
  // Launches into all but the first buffer by turns, then again and again into one that is away;
  // how many there were when it came to rest.
  int LaunchesUntilFull() {
    // Each in a shape of its own: no history says that it may as well be served in place.
    unsigned blocks = 8;
    // What is there and idle could make room: all is in use.
    for (size_t i = 1; i < kPlaces; ++i) {
      EXPECT_CU(world_.LaunchAdd(buffers_[i], 0, busy_, blocks++));
    }
    for (size_t i = 1; i < kPlaces; ++i) {
      while (runtime_->OnDevice(buffers_[i]) != kLarge) std::this_thread::yield();
    }
    const Buffer& away = buffers_[kPlaces];
    std::atomic<int> launched{0};
    std::thread program([&] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      for (; launched < 200; ++launched) {
        const size_t next = 1 + static_cast<size_t>(launched);
        const Buffer& buffer = next < buffers_.size() ? buffers_[next] : away;
        EXPECT_CU(world_.LaunchAdd(buffer, 0, stream_, blocks++));
      }
    });
    // At rest: none in a second.
    int seen = -1;
    for (auto since = std::chrono::steady_clock::now();
         launched < 200 && std::chrono::steady_clock::now() < since + std::chrono::seconds(1);) {
      if (launched != seen) since = std::chrono::steady_clock::now();
      seen = launched;
      std::this_thread::yield();
    }
    const int held = launched;
    flag_.Set(1);
    program.join();
    EXPECT_EQ(launched, 200);
    return held;
  }
};

// A fingerprint is one more entry in a stream that the driver takes a thousand of: the program is
// let run less far ahead.
TEST_F(TracedPrintsHeld, CountAsHeldWorkDoes) {
  for (size_t i = 0; i < 40; ++i) {
    buffers_.push_back(runtime_->Alloc(kLarge));
    buffers_.back().seed = i + 100;
    EXPECT_CU(world_.LaunchFill(buffers_.back(), stream_));
  }
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  for (int i = 0; i < 2; ++i) Round(0);
  const int held = LaunchesUntilFull();
  EXPECT_GE(held, 130);
  EXPECT_LT(held, 156) << "160 without a fingerprint";
}

// What many launches write in a row has a few fingerprints at most, not one behind each.
TEST_F(TracedPrintsHeld, EndWhereTheyTellNothing) {
  for (int i = 0; i < 4; ++i) Round(0);
  EXPECT_GE(LaunchesUntilFull(), 152) << "120 with a fingerprint behind each";
}

// Two streams write by turns, each before the other is seen to have ended: neither's fingerprint
// says what is there in the end.
TEST_F(TracedPrints, WhatTwoStreamsWriteStaysRight) {
  for (int i = 0; i < 4; ++i) Round(0);
  flag_.Set(1);
  const auto& cu = world_.api();
  CUevent event = nullptr;
  EXPECT_CU(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 1; i < buffers_.size(); ++i) {
      for (const auto& [first, second] : {std::pair(stream_, busy_), {busy_, stream_}}) {
        EXPECT_CU(world_.LaunchAdd(buffers_[i], 1, first));
        buffers_[i].add += 1;
        EXPECT_CU(cu.EventRecord(event, first));
        EXPECT_CU(cu.StreamWaitEvent(second, event, 0));
      }
    }
  }
  EXPECT_CU(cu.StreamSynchronize(stream_));
  EXPECT_CU(cu.EventDestroy(event));
}

// One stream, two threads: what was let go first is not what came into it first.
TEST_F(TracedPrints, WhatAnotherThreadWritesInTheSameStreamIsKept) {
  for (int i = 0; i < 4; ++i) Round(0);
  flag_.Set(1);
  int tried = 0;
  for (size_t i = 1; i < buffers_.size(); ++i) {
    Buffer& b = buffers_[i];
    if (runtime_->OnDevice(b) != kLarge) continue;
    const uint64_t works = runtime_->stats().works;
    world_.set_delay("cuMemcpyDtoDAsync", 100'000);
    std::thread other([&] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      EXPECT_CU(world_.api().MemcpyDtoDAsync(b.ptr, buffers_[0].ptr, kLarge, stream_));
    });
    while (runtime_->stats().works == works) std::this_thread::yield();
    // The copy waits in the driver's call: this comes into the stream before it.
    EXPECT_CU(world_.LaunchAdd(b, 0, stream_));
    other.join();
    world_.set_delay("cuMemcpyDtoDAsync", 0);
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    b.seed = buffers_[0].seed;
    b.add = buffers_[0].add;
    EXPECT_SPAN(
        vramspanMemPrefetchAsync(runtime_->get(), b.ptr, kLarge, VRAMSPAN_LOCATION_HOST, stream_));
    ++tried;
  }
  EXPECT_GT(tried, 1);
}

}  // namespace
}  // namespace vramspan_test
