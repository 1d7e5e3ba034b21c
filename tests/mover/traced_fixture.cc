#include "tests/mover/traced_fixture.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "runtime/base/log.h"

namespace vramspan_test {

bool Eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

TracedTest::TracedTest()
    : watchdog_(testing::UnitTest::GetInstance()->current_test_info()->name(), 100) {
  stream_ = NewStream();
  VS_CHECK(simcuda::LoadKernels(traced_test_kernels_images(), world_.api().ModuleLoadData,
                                &module_) == CUDA_SUCCESS);
}

TracedTest::~TracedTest() {
  if (runtime_ != nullptr) {
    runtime_->Synchronize();
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].ptr == 0) continue;
      EXPECT_EQ(world_.Wrong(buffers_[i]), "") << "buffer " << i;
    }
    EXPECT_SPAN(runtime_->Destroy());
  }
  for (const CUstream stream : streams_) EXPECT_CU(world_.api().StreamDestroy(stream));
  EXPECT_CU(world_.api().ModuleUnload(module_));
  unsetenv("VRAMSPAN_TRUST");
}

const char* TracedTest::Overlap() {
  if (GetParam() != std::string("plausible")) return GetParam();
  const std::string path = trust_.File("all_names.trust");
  std::ofstream(path) << "vramspan-trust 1\nname *\n";
  setenv("VRAMSPAN_TRUST", path.c_str(), 1);
  return "auto";
}

void TracedTest::Start(size_t buffers) {
  RuntimeOptions options;
  options.deadline_us = 5'000'000;
  options.tracer = "cupti";
  options.overlap = Overlap();
  Start(options, buffers);
}

void TracedTest::Start(const RuntimeOptions& options, size_t buffers) {
  runtime_ = std::make_unique<TestRuntime>(world_, options);
  buffers_.reserve(64);  // References to buffers stay.
  for (size_t i = 0; i < buffers; ++i) NewBuffer();
  Wait(stream_);
}

Buffer& TracedTest::NewBuffer(size_t bytes) {
  Buffer& b = buffers_.emplace_back(runtime_->Alloc(bytes));
  b.seed = buffers_.size();
  EXPECT_CU(world_.LaunchFill(b, stream_));
  return b;
}

CUfunction TracedTest::Traced(const char* name) const {
  CUfunction f = nullptr;
  EXPECT_CU(world_.api().ModuleGetFunction(&f, module_, name));
  return f;
}

void TracedTest::Add(size_t i, Word value, CUstream stream) {
  EXPECT_CU(world_.LaunchAdd(buffers_[i], value, stream));
  buffers_[i].add += value;
}

void TracedTest::PlaceOnHost(const Indices& which) {
  const auto named = [&](size_t i) {
    return std::find(which.begin(), which.end(), i) != which.end();
  };
  const auto move = [&](size_t i, vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), buffers_[i].ptr, buffers_[i].bytes(), to,
                                         stream_));
  };
  // Again where what is hot came back into the room that was made.
  ASSERT_TRUE(Eventually([&] {
    size_t room = kBudget;
    for (size_t i = 0; i < buffers_.size() && room != 0; ++i) {
      if (named(i) || buffers_[i].bytes() != kChunk) continue;
      move(i, VRAMSPAN_LOCATION_DEVICE);
      --room;
    }
    for (const size_t i : which) move(i, VRAMSPAN_LOCATION_HOST);
    runtime_->Synchronize();
    return std::all_of(which.begin(), which.end(), [&](size_t i) { return DeviceBytes(i) == 0; }) &&
           runtime_->stats().device_used == runtime_->stats().device_budget;
  }));
}

void TracedTest::ExpectFetched(const Indices& which, const std::function<void()>& launch) {
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost(which));
  const vramspanStatistics before = runtime_->stats();
  launch();
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  for (const size_t i : which) EXPECT_TRUE(OnDevice(i)) << "buffer " << i;
  EXPECT_EQ(after.launches, before.launches + 1);
  EXPECT_EQ(after.works, before.works + 1);
  EXPECT_EQ(after.works_held, before.works_held + 1);
  EXPECT_GE(after.touches, before.touches + which.size());
  EXPECT_GE(after.fetches, before.fetches + which.size());
  EXPECT_EQ(after.bytes_in_place, before.bytes_in_place);
  EXPECT_EQ(after.launches_unknown, before.launches_unknown);
}

void TracedTest::ExpectServed(const Indices& which, uint64_t count,
                              const std::function<void()>& copies) {
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost(which));
  const vramspanStatistics before = runtime_->stats();
  copies();
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  for (const size_t i : which) EXPECT_EQ(DeviceBytes(i), 0u) << "buffer " << i;
  EXPECT_EQ(after.copies, before.copies + count);
  EXPECT_EQ(after.works, before.works + count);
  EXPECT_EQ(after.fetches, before.fetches);
  EXPECT_EQ(after.launches, before.launches);
  EXPECT_EQ(after.bytes_in_place > before.bytes_in_place, !which.empty());
}

void TracedTest::ExpectStay(const Indices& which, const std::function<void(CUstream)>& launch) {
  const auto move = [&](vramspanLocation to) {
    for (const size_t i : which) {
      EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), buffers_[i].ptr, kChunk, to, stream_));
    }
  };
  const auto all = [&] {
    return std::all_of(which.begin(), which.end(), [&](size_t i) { return OnDevice(i); });
  };
  // Idle fetches may have taken the room. Where the first prefetch is done before the second is
  // asked for, the second may evict what the first brought.
  for (int attempt = 0; attempt < 5 && !all(); ++attempt) {
    move(VRAMSPAN_LOCATION_DEVICE);
    runtime_->Synchronize();
  }
  ASSERT_TRUE(all());
  HostFlag flag(world_);
  const CUstream parked = NewStream();
  EXPECT_CU(flag.ParkIn(parked, 1));
  launch(parked);
  const uint64_t stalled = runtime_->stats().stall_drain_ns;
  move(VRAMSPAN_LOCATION_HOST);
  // The mover has looked at it again and again.
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().stall_drain_ns > stalled + 20'000'000; }));
  EXPECT_TRUE(all());
  flag.Set(1);
  runtime_->Synchronize();
  for (const size_t i : which) EXPECT_FALSE(OnDevice(i)) << "buffer " << i;
}

TracedTest::Pressure::Pressure(TracedTest* test, Indices which)
    : test_(*test), which_(std::move(which)), thread_([this] { Run(); }) {
  const uint64_t before = test_.runtime_->stats().evictions;
  EXPECT_TRUE(Eventually([&] { return test_.runtime_->stats().evictions > before + 4; }));
}

TracedTest::Pressure::~Pressure() {
  stop_.store(true);
  thread_.join();
}

void TracedTest::Pressure::Run() {
  EXPECT_CU(test_.world_.api().CtxSetCurrent(test_.world_.context()));
  // What it waits for would end a capture that another thread makes in the global mode.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_CU(test_.world_.api().ThreadExchangeStreamCaptureMode(&mode));
  const CUstream stream = test_.world_.NewStream();
  while (!stop_.load()) {
    for (const size_t i : which_) test_.Add(i, 1, stream);
    test_.Wait(stream);
  }
  EXPECT_CU(test_.world_.api().StreamDestroy(stream));
}

}  // namespace vramspan_test
