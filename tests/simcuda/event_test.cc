// Events, and waits and writes on memory words.

#include <thread>

#include "tests/simcuda/sim_fixture.h"

// Under their own names: cuda.h makes these those of _v2.
extern "C" {
CUresult WriteValue32V1(CUstream stream, CUdeviceptr address, cuuint32_t value,
                        unsigned flags) __asm__("cuStreamWriteValue32");
CUresult WaitValue64V1(CUstream stream, CUdeviceptr address, cuuint64_t value,
                       unsigned flags) __asm__("cuStreamWaitValue64");
CUresult BatchMemOpV1(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                      unsigned flags) __asm__("cuStreamBatchMemOp");
}

namespace simcuda {
namespace {

class EventTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    SIM_OK(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    SIM_OK(cuEventCreate(&event_, CU_EVENT_DEFAULT));
  }

  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
  CUevent event_ = nullptr;
};

TEST_F(EventTest, FollowsItsStream) {
  SIM_OK(cuEventQuery(event_));  // never recorded
  SIM_OK(cuEventSynchronize(event_));
  Gate gate;
  gate.Park(stream_);
  SIM_OK(cuEventRecord(event_, stream_));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuEventSynchronize(event_));
  SIM_OK(cuEventQuery(event_));
}

TEST_F(EventTest, StreamsWaitForIt) {
  Gate gate;
  gate.Park(stream_);
  std::atomic<bool> ran{false};
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  SIM_OK(LaunchFunction(other_, [&ran] { ran = true; }));
  LetWorkersRun();
  EXPECT_FALSE(ran);
  gate.Open();
  SIM_OK(cuStreamSynchronize(other_));
  EXPECT_TRUE(ran);
}

// A wait means the record that was there when it was submitted.
TEST_F(EventTest, ALaterRecordDoesNotMoveAWait) {
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  Gate gate;
  gate.Park(stream_);
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamSynchronize(other_));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
}

TEST_F(EventTest, AcrossContexts) {
  Gate gate;
  gate.Park(stream_);
  SIM_OK(cuEventRecord(event_, stream_));
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 1));
  CUstream there = nullptr;
  SIM_OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuEventRecord(event_, there), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuStreamWaitEvent(there, event_, 0));
  EXPECT_EQ(cuStreamQuery(there), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(there));
  SIM_OK(cuCtxDestroy(second));
}

TEST_F(EventTest, MeasuresTime) {
  CUevent end = nullptr;
  CUevent untimed = nullptr;
  SIM_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  SIM_OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, end), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(
      LaunchFunction(stream_, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }));
  SIM_OK(cuEventRecord(end, stream_));
  SIM_OK(cuEventRecord(untimed, stream_));
  SIM_OK(cuEventSynchronize(end));
  SIM_OK(cuEventElapsedTime(&milliseconds, event_, end));
  EXPECT_GE(milliseconds, 5.0f);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventTest, DestroyedEventsStillHoldWhatWaitsForThem) {
  Gate gate;
  gate.Park(stream_);
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  SIM_OK(cuEventDestroy(event_));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_INVALID_HANDLE);
  LetWorkersRun();
  EXPECT_EQ(cuStreamQuery(other_), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(other_));
}

TEST_F(EventTest, Callbacks) {
  std::atomic<int> status{-1};
  SIM_OK(cuStreamAddCallback(
      stream_,
      [](CUstream, CUresult result, void* data) {
        static_cast<std::atomic<int>*>(data)->store(result);
      },
      &status, 0));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(status, CUDA_SUCCESS);
}

class ValueTest : public EventTest {
 protected:
  void SetUp() override {
    EventTest::SetUp();
    void* memory = nullptr;
    SIM_OK(cuMemHostAlloc(&memory, 64, 0));
    words_ = static_cast<uint32_t*>(memory);
  }
  CUdeviceptr Address(size_t word) const { return reinterpret_cast<CUdeviceptr>(words_ + word); }
  void Store(size_t word, uint32_t value) {
    __atomic_store_n(words_ + word, value, __ATOMIC_RELEASE);
  }
  bool Done() {
    LetWorkersRun();
    return cuStreamQuery(stream_) == CUDA_SUCCESS;
  }

  uint32_t* words_ = nullptr;
};

TEST_F(ValueTest, Equal) {
  SIM_OK(cuStreamWaitValue32(stream_, Address(0), 5, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_FALSE(Done());
  Store(0, 6);
  EXPECT_FALSE(Done());
  Store(0, 5);
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(ValueTest, GreaterOrEqualIsCyclic) {
  Store(0, 0xFFFFFFF0u);
  SIM_OK(cuStreamWaitValue32(stream_, Address(0), 2, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_FALSE(Done());
  Store(0, 3);
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(ValueTest, AndNor) {
  SIM_OK(cuStreamWaitValue32(stream_, Address(0), 0x6, CU_STREAM_WAIT_VALUE_AND));
  Store(0, 0x9);
  EXPECT_FALSE(Done());
  Store(0, 0x4);
  SIM_OK(cuStreamSynchronize(stream_));

  Store(0, 0x0000FFFFu);
  SIM_OK(cuStreamWaitValue32(stream_, Address(0), 0xFFFF0000u, CU_STREAM_WAIT_VALUE_NOR));
  EXPECT_FALSE(Done());
  Store(0, 0x0000FFFEu);
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(ValueTest, SixtyFourBits) {
  SIM_OK(cuStreamWaitValue64(stream_, Address(0), uint64_t{1} << 40, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_FALSE(Done());
  SIM_OK(cuStreamWriteValue64(other_, Address(0), uint64_t{1} << 40, 0));
  SIM_OK(cuStreamSynchronize(stream_));
}

// One stream opens another's wait.
TEST_F(ValueTest, WritesAreOrderedWithTheirStream) {
  Gate gate;
  gate.Park(other_);
  SIM_OK(cuStreamWriteValue32(other_, Address(0), 1, 0));
  SIM_OK(cuStreamWaitValue32(stream_, Address(0), 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_FALSE(Done());
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream_));
}

TEST_F(ValueTest, Batches) {
  CUstreamBatchMemOpParams params[3] = {};
  params[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  params[0].waitValue.address = Address(0);
  params[0].waitValue.value = 1;
  params[1].operation = CU_STREAM_MEM_OP_BARRIER;
  params[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  params[2].writeValue.address = Address(1);
  params[2].writeValue.value = 77;
  SIM_OK(cuStreamBatchMemOp(stream_, 3, params, 0));
  EXPECT_FALSE(Done());
  EXPECT_EQ(__atomic_load_n(words_ + 1, __ATOMIC_ACQUIRE), 0u);
  Store(0, 1);
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(words_[1], 77u);
  params[1].operation = static_cast<CUstreamBatchMemOpType>(99);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 3, params, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ValueTest, AddressesAreChecked) {
  uint32_t word = 0;
  EXPECT_EQ(cuStreamWaitValue32(stream_, Address(0) + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue64(stream_, Address(1), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32(stream_, reinterpret_cast<CUdeviceptr>(&word), 1, 0),
            CUDA_ERROR_INVALID_VALUE);
}

// Forty parked streams and one store that opens them all, from a thread that knows no driver.
TEST_F(ValueTest, ManyParkedStreams) {
  std::vector<CUstream> streams(40);
  for (CUstream& stream : streams) {
    SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    SIM_OK(cuStreamWaitValue32(stream, Address(0), 1, CU_STREAM_WAIT_VALUE_GEQ));
  }
  std::thread([this] { Store(0, 1); }).join();
  for (CUstream stream : streams) SIM_OK(cuStreamSynchronize(stream));
}

// Those from before _v2 take the flag for relaxed order, and know no barrier.
TEST_F(ValueTest, TheOldFunctions) {
  constexpr unsigned kRelaxed = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
  EXPECT_EQ(cuStreamWriteValue32(stream_, Address(0), 5, kRelaxed), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(WaitValue64V1(stream_, Address(2), 6, CU_STREAM_WAIT_VALUE_EQ));
  SIM_OK(WriteValue32V1(stream_, Address(0), 5, kRelaxed));
  LetWorkersRun();
  EXPECT_EQ(__atomic_load_n(words_, __ATOMIC_ACQUIRE), 0u);
  CUstreamBatchMemOpParams params[2] = {};
  params[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, Address(2), {6}, kRelaxed, 0};
  params[1].operation = CU_STREAM_MEM_OP_BARRIER;
  EXPECT_EQ(BatchMemOpV1(other_, 2, params, 0), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(BatchMemOpV1(other_, 1, params, 0));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(__atomic_load_n(words_, __ATOMIC_ACQUIRE), 5u);
}

}  // namespace
}  // namespace simcuda
