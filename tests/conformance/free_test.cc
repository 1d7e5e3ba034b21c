// cuMemFree waits for all work of its context, held work too; who else must wait then, and who not.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

class Free : public Conformance {
 protected:
  Free() : host_({Where::kHostNuma}), device_({Where::kDevice}) {
    {
      const Current second(world_.second());
      copies_.emplace();
    }
    Must(cu_.MemAlloc(&buffer_, kMiB), "cuMemAlloc");
    gate_.Park(parked_.get());
    Must(Launch(world_.Kernel("nothing"), 1, 1, parked_.get()), "cuLaunchKernel");
    free_ = std::make_unique<Background>(gate_, world_.primary(), [this] {
      entering_ = true;
      Must(cu_.MemFree(buffer_), "cuMemFree");
    });
  }

  // Opens the gate and expects the free to come back.
  void Open() {
    gate_.OpenAll();
    EXPECT_TRUE(Eventually([&] { return free_->done(); }));
    free_->Finish();
  }

  const Chunks host_;
  const Chunks device_;
  const Stream parked_;
  const Stream other_;
  std::optional<Stream> copies_;  // the second context's
  CUdeviceptr buffer_ = 0;
  std::atomic<bool> entering_{false};
  Gate gate_;
  std::unique_ptr<Background> free_;
};

TEST_F(Free, WaitsForHeldWork) {
  EXPECT_TRUE(StaysFalse([&] { return free_->done(); }));
  Open();
}

TEST_F(Free, LetsVmmCallsAndCopiesOfAnotherContextThrough) {
  EXPECT_TRUE(StaysFalse([&] { return free_->done(); }));
  std::optional<Span> spans[2];
  Background mover(gate_, world_.second(), [&] {
    std::optional<Span>* span = spans;
    for (const Where where : {Where::kDevice, Where::kHostNuma}) {
      Handle handle(where);
      span->emplace(1);
      (*span)->Map(0, handle);
      for (const Chunks* from : {&host_, &device_}) {
        Must(cu_.MemcpyAsync((*span)->at(0), from->at(0), kChunk, copies_->get()), "cuMemcpyAsync");
      }
      Must(cu_.MemsetD8Async((*span)->at(0), 1, kChunk, copies_->get()), "cuMemsetD8Async");
      Must(cu_.StreamSynchronize(copies_->get()), "cuStreamSynchronize");
      (*span)->Unmap(0);
      handle.Release();
      ++span;
    }
  });
  EXPECT_TRUE(Eventually([&] { return mover.done(); }));
  EXPECT_FALSE(free_->done());
  mover.Finish();
  Open();
}

// The launches go to a stream that nothing holds, one a millisecond for as long as it takes until
// the free is inside the driver.
TEST_F(Free, HoldsUpLaunchesOfItsContext) {
  constexpr int kLaunches = 500;
  std::atomic<int> launched{0};
  ASSERT_TRUE(Eventually([&] { return entering_.load(); }));
  Background launcher(gate_, world_.primary(), [&] {
    for (; launched < kLaunches; ++launched) {
      Must(Launch(world_.Kernel("nothing"), 1, 1, other_.get()), "cuLaunchKernel");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  int seen = 0;
  do {
    seen = launched;
  } while (!StaysFalse([&] { return launched > seen; }));
  EXPECT_FALSE(launcher.done()) << "no launch was held up";
  EXPECT_FALSE(free_->done());
  Open();
  EXPECT_TRUE(Eventually([&] { return launcher.done(); }));
  launcher.Finish();
}

}  // namespace
}  // namespace vramspan::conformance
