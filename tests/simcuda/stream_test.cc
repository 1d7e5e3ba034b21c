// Streams: order, the legacy stream, shared hardware queues, handles.

#include <mutex>
#include <thread>

#include "tests/simcuda/sim_fixture.h"

// The per-thread variants, which cuda.h declares only for programs compiled for them.
extern "C" {
CUresult cuMemsetD8Async_ptsz(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream);
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data);
CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id);
}

namespace simcuda {
namespace {

class StreamTest : public SimTest {
 protected:
  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
  }
};

TEST_F(StreamTest, WorkRunsInOrder) {
  CUstream stream = NewStream();
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) {
    SIM_OK(LaunchFunction(stream, [&seen, i] { seen.push_back(i); }));
  }
  SIM_OK(cuStreamSynchronize(stream));
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST_F(StreamTest, QueryAndSynchronize) {
  CUstream stream = NewStream();
  SIM_OK(cuStreamQuery(stream));
  Gate gate;
  gate.Park(stream);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream));
  SIM_OK(cuStreamQuery(stream));
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreams) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  Gate gate;
  gate.Park(blocking);
  std::atomic<bool> ran{false};
  SIM_OK(LaunchFunction(nullptr, [&ran] { ran = true; }));
  LetWorkersRun();
  EXPECT_FALSE(ran);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(nullptr));
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, BlockingStreamsWaitForTheLegacyStream) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  Gate gate;
  gate.Park(CU_STREAM_LEGACY);
  std::atomic<bool> ran{false};
  SIM_OK(LaunchFunction(blocking, [&ran] { ran = true; }));
  LetWorkersRun();
  EXPECT_FALSE(ran);
  gate.Open();
  SIM_OK(cuStreamSynchronize(blocking));
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, NonBlockingStreamsDoNot) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUstream free = NewStream();
  Gate gate;
  gate.Park(blocking);
  SIM_OK(LaunchFunction(nullptr, [] {}));
  SIM_OK(LaunchFunction(free, [] {}));
  SIM_OK(cuStreamSynchronize(free));
  EXPECT_EQ(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
}

// Work in a destroyed stream still counts for the legacy stream's order.
TEST_F(StreamTest, ADestroyedStreamFinishesItsWork) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  std::atomic<int> order{0};
  int first = -1;
  int second = -1;
  {
    Gate gate;
    gate.Park(blocking);
    SIM_OK(LaunchFunction(blocking, [&] { first = order++; }));
    SIM_OK(cuStreamDestroy(blocking));
    SIM_OK(LaunchFunction(nullptr, [&] { second = order++; }));
    LetWorkersRun();
    EXPECT_EQ(order, 0);
  }
  SIM_OK(cuCtxSynchronize());
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST_F(StreamTest, PerThreadStreamsDifferByThread) {
  unsigned long long here = 0;
  unsigned long long legacy = 0;
  unsigned long long explicit_handle = 0;
  unsigned long long there = 0;
  SIM_OK(cuStreamGetId_ptsz(nullptr, &here));
  SIM_OK(cuStreamGetId(nullptr, &legacy));
  SIM_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &explicit_handle));
  std::thread([&] {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    SIM_EXPECT_OK(cuStreamGetId_ptsz(nullptr, &there));
  }).join();
  EXPECT_NE(here, legacy);
  EXPECT_EQ(here, explicit_handle);
  EXPECT_NE(here, there);
}

TEST_F(StreamTest, PerThreadEntryPointsUseThePerThreadStream) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 64));
  Gate gate;
  gate.Park(blocking);
  // Would wait for the parked stream if it went into the legacy one.
  SIM_OK(cuMemsetD8Async_ptsz(memory, 1, 64, nullptr));
  SIM_OK(cuStreamSynchronize_ptsz(nullptr));
  EXPECT_EQ(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
}

// Eight queues: the ninth stream shares the first one's, and a parked head holds back its copies
// too.
TEST_F(StreamTest, AParkedStreamHoldsBackTheStreamsOfItsQueue) {
  std::vector<CUstream> streams;
  for (int i = 0; i < 9; ++i) streams.push_back(NewStream());
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 9 * 64));
  Gate gate;
  gate.Park(streams[0]);
  for (size_t i = 1; i < 9; ++i) SIM_OK(cuMemsetD8Async(memory + i * 64, 1, 64, streams[i]));
  for (size_t i = 1; i < 8; ++i) SIM_OK(cuStreamSynchronize(streams[i]));
  LetWorkersRun();
  EXPECT_EQ(cuStreamQuery(streams[8]), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(streams[8]));
}

// The way out that the design counts on: another context has queues of its own.
TEST_F(StreamTest, AnotherContextIsNotHeldBack) {
  std::vector<CUstream> streams;
  Gate gate;
  for (int i = 0; i < 16; ++i) {
    streams.push_back(NewStream());
    gate.Park(streams.back());
  }
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 64));
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUstream ours = NewStream();
  SIM_OK(cuMemsetD8Async(memory, 1, 64, ours));
  SIM_OK(cuStreamSynchronize(ours));
  SIM_OK(cuCtxDestroy(second));
  for (CUstream stream : streams) EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

TEST_F(StreamTest, AFullQueueBlocksTheSubmittingCall) {
  CUstream stream = NewStream();
  Gate gate;
  gate.Park(stream);
  std::atomic<int> submitted{0};
  std::atomic<int> ran{0};
  std::thread submitter([&] {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    for (int i = 0; i < 1200; ++i) {
      SIM_EXPECT_OK(LaunchFunction(stream, [&ran] { ++ran; }));
      ++submitted;
    }
  });
  EXPECT_TRUE(Eventually([&] { return submitted == 1023; }));
  LetWorkersRun();
  EXPECT_EQ(submitted, 1023);
  EXPECT_EQ(ran, 0);
  // Other queues' calls are not held up by it.
  CUstream other = NewStream();
  SIM_OK(LaunchFunction(other, [] {}));
  SIM_OK(cuStreamSynchronize(other));
  gate.Open();
  submitter.join();
  SIM_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(ran, 1200);
}

TEST_F(StreamTest, StaleHandlesAreRefusedAndCounted) {
  CUstream stream = NewStream();
  SIM_OK(cuStreamDestroy(stream));
  EXPECT_EQ(simcudaStaleHandleUses(), 0u);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(NewStream(), reinterpret_cast<CUevent>(12345), 0),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(simcudaStaleHandleUses(), 3u);
}

TEST_F(StreamTest, Properties) {
  int least = 1;
  int greatest = 1;
  SIM_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -20));
  int priority = 0;
  unsigned flags = 0;
  CUcontext context = nullptr;
  CUdevice device = -1;
  SIM_OK(cuStreamGetPriority(stream, &priority));
  SIM_OK(cuStreamGetFlags(stream, &flags));
  SIM_OK(cuStreamGetCtx(stream, &context));
  SIM_OK(cuStreamGetDevice(stream, &device));
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(context, context_);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuStreamCreate(&stream, 77), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, HostFunctionsMayNotCallTheDriver) {
  std::atomic<int> result{-1};
  SIM_OK(LaunchFunction(nullptr, [&result] {
    CUdeviceptr address = 0;
    result = cuMemAlloc(&address, 16);
  }));
  SIM_OK(cuCtxSynchronize());
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(StreamTest, FreeWaitsForTheContextsWork) {
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 64));
  CUstream stream = NewStream();
  Gate gate;
  gate.Park(stream);
  std::atomic<bool> freed{false};
  std::thread freer([&] {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    SIM_EXPECT_OK(cuMemFree(memory));
    freed = true;
  });
  LetWorkersRun();
  EXPECT_FALSE(freed);
  gate.Open();
  freer.join();
}

TEST_F(StreamTest, ManyThreadsSubmitToManyStreams) {
  constexpr int kThreads = 6;
  constexpr int kOps = 500;
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SIM_EXPECT_OK(cuCtxSetCurrent(context_));
      CUstream stream = NewStream(t % 2 == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
      for (int i = 0; i < kOps; ++i) {
        SIM_EXPECT_OK(LaunchFunction(i % 50 == 0 ? nullptr : stream, [&ran] { ++ran; }));
      }
      SIM_EXPECT_OK(cuStreamSynchronize(stream));
      SIM_EXPECT_OK(cuStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  SIM_OK(cuCtxSynchronize());
  EXPECT_EQ(ran, kThreads * kOps);
}

}  // namespace
}  // namespace simcuda
