// What a recording tells of memory whose contents the program gives up.
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/api/runtime.h"
#include "tests/mover/recorded.h"
#include "tests/mover/world.h"
#include "tests/trace/sample.h"

namespace vramspan_test {
namespace {

using namespace vramspan::replay;  // NOLINT
using vramspan::Access;
using vramspan::DevicePtr;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::StatusOr;
using vramspan::WorkRange;

// With so much device memory; there are three buffers of 8 MiB.
class RecordedDiscards : public MoverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  RecordedDiscards() : stream_(world_.NewStream()) {
    setenv("VRAMSPAN_RECORD", path_.c_str(), 1);
    RuntimeOptions options;
    options.chunk = "2MiB";
    options.device_memory = GetParam();
    const vramspanConfig config = Config(options);
    StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(&config);
    EXPECT_TRUE(made.ok()) << made.status();
    runtime_ = *std::move(made);
    for (int i = 0; i < 3; ++i) buffers_.push_back(*runtime_->Allocate(MiB(8)));
  }
  ~RecordedDiscards() override {
    unsetenv("VRAMSPAN_RECORD");
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }
  void Work(size_t buffer) {
    const WorkRange range{buffers_[buffer], MiB(8), {}};
    EXPECT_TRUE(runtime_->BeginWork(stream_, {&range, 1}, Access::kExact).ok());
    EXPECT_TRUE(runtime_->EndWork(stream_).ok());
  }
  void Discard(size_t buffer) {
    EXPECT_TRUE(runtime_->GiveUp(buffers_[buffer], MiB(8), /*unowned=*/false).ok());
  }
  RecordedRun End() {
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    EXPECT_TRUE(Runtime::End(&runtime_).ok());
    runtime_.reset();
    return LoadedWhole(path_);
  }

  const Watchdog watchdog_{"a test of what is recorded of discards", 60};
  vramspan::trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
  const CUstream stream_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<DevicePtr> buffers_;
};
INSTANTIATE_TEST_SUITE_P(Memory, RecordedDiscards, ::testing::Values("64MiB", "16MiB"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RecordedDiscards, StandBetweenTheWorkOfTheirThread) {
  Discard(1);
  for (size_t i = 0; i < 20; ++i) {
    Work(i % 3);
    Discard(i % 3);
    if (i % 4 == 0) Discard((i + 1) % 3);
  }
  const RecordedRun run = End();
  ASSERT_EQ(run.works.size(), 20u);
  ASSERT_EQ(run.discards.size(), 26u);
  size_t next = 0;
  const auto expect = [&](uint32_t step, size_t allocation) {
    const RecordedDiscard& d = run.discards[next++];
    EXPECT_EQ(d.step, step);
    EXPECT_EQ(d.allocation, allocation);
    EXPECT_EQ(d.offset, 0u);
    EXPECT_EQ(d.size, MiB(8).value);
  };
  expect(3, 1);
  for (uint32_t i = 0; i < 20; ++i) {
    expect(4 + i, i % 3);
    if (i % 4 == 0) expect(4 + i, (i + 1) % 3);
  }
}

// Whichever thread made the last call before.
TEST_P(RecordedDiscards, StandBehindTheWorkOfThreadsThatWereSooner) {
  for (size_t i = 0; i < 10; ++i) {
    std::thread([&] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      Work(i % 3);
    }).join();
    std::thread([&] { Discard(i % 3); }).join();
  }
  const RecordedRun run = End();
  ASSERT_EQ(run.discards.size(), 10u);
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(run.discards[i].step, 4 + i);
    EXPECT_EQ(run.discards[i].allocation, i % 3);
  }
}

TEST_P(RecordedDiscards, WhatIsNobodysIsTold) {
  using Kind = RecordedDiscard::Kind;
  Work(0);
  EXPECT_TRUE(runtime_->GiveUp(buffers_[0], MiB(8), /*unowned=*/true).ok());
  Work(1);
  runtime_->Own(buffers_[0] + MiB(2), MiB(2));
  Work(0);
  Discard(0);
  const RecordedRun run = End();
  const uint64_t part = MiB(2).value, whole = MiB(8).value;
  ASSERT_EQ(run.discards.size(), 3u);
  EXPECT_EQ(run.discards[0].kind, Kind::kUnowned);
  EXPECT_EQ(run.discards[0].size, whole);
  EXPECT_EQ(run.discards[0].step, 4u);
  EXPECT_EQ(run.discards[1].kind, Kind::kOwned);
  EXPECT_EQ(std::pair(run.discards[1].offset, run.discards[1].size), std::pair(part, part));
  EXPECT_EQ(run.discards[1].step, 5u);
  EXPECT_EQ(run.discards[2].kind, Kind::kContents);
}

TEST_P(RecordedDiscards, OfWhatIsNoMemoryNothingIsTold) {
  Work(0);
  (void)runtime_->GiveUp(DevicePtr(4096), MiB(2), /*unowned=*/false);
  EXPECT_TRUE(runtime_->Free(buffers_[2]).ok());
  (void)runtime_->GiveUp(buffers_[2], MiB(8), /*unowned=*/false);
  Discard(0);
  const RecordedRun run = End();
  ASSERT_EQ(run.discards.size(), 1u);
  EXPECT_EQ(run.discards[0].allocation, 0u);
}

}  // namespace
}  // namespace vramspan_test
