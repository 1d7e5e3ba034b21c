// Streams that stand at a closed wait, and what else of their context stands still with them.
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

constexpr size_t kBytes = 2 * kChunk;

class Parked : public Conformance {
 protected:
  // More than the hardware queues that any setting gives a context.
  static constexpr int kStreams = 64;

  Parked()
      : pinned_(kBytes),
        device_({Where::kDevice, Where::kDevice}),
        host_({Where::kHostNuma, Where::kHostNuma}),
        scratch_({Where::kDevice}) {
    for (int i = 0; i < kStreams; ++i) {
      streams_.emplace_back(i % 2 == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    }
    // Every stream has done a kernel and a copy: only then do they take hardware queues.
    CUdeviceptr to = scratch_.at(0);
    for (const Stream& stream : streams_) {
      Must(Launch(world_.Kernel("nothing"), 1, 1, stream.get()), "cuLaunchKernel");
      Must(cu_.MemcpyHtoDAsync(to, pinned_.as<void>(), 4096, stream.get()), "cuMemcpyHtoDAsync");
      to += 4096;
    }
    Must(cu_.CtxSynchronize(), "cuCtxSynchronize");
  }

  void ParkAll(Gate& gate) {
    for (const Stream& stream : streams_) {
      gate.Park(stream.get());
      Must(Launch(world_.Kernel("nothing"), 1, 1, stream.get()), "cuLaunchKernel");
    }
  }

  const Pinned pinned_;
  const Chunks device_;
  const Chunks host_;
  const Chunks scratch_;
  const Stream ours_;  // made before those that park
  std::vector<Stream> streams_;
};

TEST_F(Parked, HoldBackTheOtherStreamsOfTheirContext) {
  Gate gate;
  ParkAll(gate);
  CU_OK(cu_.MemcpyHtoDAsync(device_.at(0), pinned_.as<void>(), kBytes, ours_.get()));
  EXPECT_TRUE(StaysFalse([&] { return ours_.Done(); }));
  gate.OpenAll();
  EXPECT_TRUE(Eventually([&] { return ours_.Done(); }));
}

TEST_F(Parked, LetThroughWhatWasSubmittedBeforeTheWaits) {
  FillHash(host_.at(0), kBytes, 1);
  Gate gate;
  CU_OK(cu_.MemcpyAsync(device_.at(0), host_.at(0), kBytes, ours_.get()));
  ParkAll(gate);
  EXPECT_TRUE(Eventually([&] { return ours_.Done(); }));
  gate.OpenAll();
  EXPECT_TRUE(KernelSeesHash(device_.at(0), kBytes, 1));
}

TEST_F(Parked, LeaveASecondContextAlone) {
  FillHash(host_.at(0), kBytes, 2);
  FillHash(device_.at(0), kChunk, 3);
  Gate gate;
  ParkAll(gate);
  {
    const Current second(world_.second());
    const Stream out;
    const Stream in;
    CU_OK(cu_.MemcpyAsync(scratch_.at(0), device_.at(0), kChunk, out.get()));
    CU_OK(cu_.MemcpyAsync(device_.at(1), host_.at(1), kChunk, in.get()));
    CU_OK(cu_.MemsetD8Async(host_.at(0), 7, kChunk, in.get()));
    EXPECT_TRUE(Eventually([&] { return out.Done() && in.Done(); }));
  }
  EXPECT_FALSE(streams_.front().Done());
  gate.OpenAll();
  EXPECT_TRUE(KernelSeesHash(scratch_.at(0), kChunk, 3));
}

TEST_F(Parked, LeaveASecondContextsViewUpToDate) {
  const Handle handles[] = {Handle(Where::kDevice), Handle(Where::kHostNuma)};
  Span aliases(2);
  Span span(1);
  for (int i = 0; i < 2; ++i) {
    aliases.Map(i, handles[i]);
    CU_OK(world_.MemsetD8(aliases.at(i), 10 + i, kChunk));
  }
  CU_OK(cu_.CtxSynchronize());
  span.Map(0, handles[0]);
  Gate gate;
  ParkAll(gate);
  const Current second(world_.second());
  const Stream stream;
  for (int round = 1; round <= 20; ++round) {
    span.Flip(0, handles[round % 2]);
    const auto expected = static_cast<unsigned char>(10 + round % 2);
    unsigned char* const seen = pinned_.as<unsigned char>();
    CU_OK(cu_.MemcpyDtoHAsync(seen, span.at(0), kChunk, stream.get()));
    CU_OK(cu_.StreamSynchronize(stream.get()));
    EXPECT_EQ(seen[0], expected) << "remap " << round;
    EXPECT_EQ(seen[kChunk - 1], expected) << "remap " << round;
  }
}

// A parked stream, the legacy one too, does not keep these calls from returning.
TEST_F(Parked, LetAllocationsAndCreationsReturn) {
  for (const CUstream parked : {CUstream{nullptr}, ours_.get()}) {
    CUdeviceptr allocated = 0;
    CUdeviceptr pooled = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    {
      Gate gate;
      gate.Park(parked);
      CU_OK(Launch(world_.Kernel("nothing"), 1, 1, parked));
      Background calls(gate, world_.primary(), [&] {
        Must(cu_.MemAlloc(&allocated, 8 * kMiB), "cuMemAlloc");
        Must(cu_.StreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
        Must(cu_.EventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
        Must(cu_.EventRecord(event, stream), "cuEventRecord");
        Must(world_.MemAllocAsync(&pooled, kMiB, stream), "cuMemAllocAsync");
      });
      EXPECT_TRUE(Eventually([&] { return calls.done(); })) << "parked: " << parked;
      EXPECT_EQ(cu_.StreamQuery(parked), CUDA_ERROR_NOT_READY);
      gate.OpenAll();
      calls.Finish();
    }
    CU_OK(world_.MemFreeAsync(pooled, stream));
    CU_OK(cu_.StreamSynchronize(stream));
    CU_OK(cu_.EventDestroy(event));
    CU_OK(cu_.StreamDestroy(stream));
    CU_OK(cu_.MemFree(allocated));
  }
}

}  // namespace
}  // namespace vramspan::conformance
