// What may be done while a stream is being captured in global mode, as frameworks do. The capturing
// stream is a blocking one, so that the legacy stream would have to wait for it.
#include <thread>
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

// Relaxes the calling thread for a scope.
class Relaxed {
 public:
  Relaxed() { Exchange(); }
  ~Relaxed() { Exchange(); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  void Exchange() {
    Must(World::Get().cu().ThreadExchangeStreamCaptureMode(&mode_),
         "cuThreadExchangeStreamCaptureMode");
  }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

class GlobalCapture : public Conformance {
 protected:
  GlobalCapture() : stream_(CU_STREAM_DEFAULT), chunks_({Where::kDevice, Where::kHostNuma}) {}

  void SetUp() override {
    CU_OK(cu_.EventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    Begin();
  }

  void TearDown() override {
    if (capturing_) End();
    if (event_ != nullptr) {
      CU_EXPECT_OK(cu_.EventDestroy(event_));
    }
    Conformance::TearDown();
  }

  void Begin() {
    CU_OK(world_.StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL));
    capturing_ = true;
    CU_OK(Launch(world_.Kernel("nothing"), 1, 1, stream_.get()));
    ASSERT_TRUE(Alive());
  }

  bool Alive() {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    Must(cu_.StreamIsCapturing(stream_.get(), &status), "cuStreamIsCapturing");
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }

  CUresult End() {
    capturing_ = false;
    CUgraph graph = nullptr;
    const CUresult result = world_.StreamEndCapture(stream_.get(), &graph);
    EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
    if (graph != nullptr) {
      CU_EXPECT_OK(world_.GraphDestroy(graph));
    }
    return result;
  }

  void ExpectRuined() {
    EXPECT_FALSE(Alive());
    EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }

  const Stream stream_;
  const Stream other_;
  const Chunks chunks_;
  CUevent event_ = nullptr;
  bool capturing_ = false;
};

TEST_F(GlobalCapture, AllowsVmmCallsAsyncCopiesAndEventRecords) {
  std::vector<CUdeviceptr> reserved;
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    const CUmemAllocationProp properties = Properties(where);
    const CUmemAccessDesc access = DeviceAccess();
    CUdeviceptr at = 0;
    CU_OK(cu_.MemAddressReserve(&at, kChunk, 0, 0, 0));
    reserved.push_back(at);
    CUmemGenericAllocationHandle handle = 0;
    CU_OK(cu_.MemCreate(&handle, kChunk, &properties, 0));
    CU_OK(cu_.MemMap(at, kChunk, 0, handle, 0));
    CU_OK(cu_.MemSetAccess(at, kChunk, &access, 1));
    CU_OK(cu_.MemcpyAsync(at, chunks_.at(0), kChunk, other_.get()));
    CU_OK(cu_.EventRecord(event_, other_.get()));
    EXPECT_TRUE(Alive()) << where;
    const Relaxed relaxed;
    CU_OK(cu_.EventSynchronize(event_));
    CU_OK(cu_.MemUnmap(at, kChunk));
    CU_OK(cu_.MemRelease(handle));
    EXPECT_TRUE(Alive()) << where;
  }
  CU_EXPECT_OK(End());
  for (const CUdeviceptr at : reserved) CU_EXPECT_OK(cu_.MemAddressFree(at, kChunk));
}

TEST_F(GlobalCapture, StreamSynchronizeOfAnyStreamRuinsIt) {
  EXPECT_EQ(cu_.StreamSynchronize(other_.get()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
}

TEST_F(GlobalCapture, EventSynchronizeOfAnyStreamRuinsIt) {
  CU_OK(cu_.EventRecord(event_, other_.get()));
  EXPECT_EQ(cu_.EventSynchronize(event_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
}

TEST_F(GlobalCapture, PlainAllocationsAndFreesRuinItWhateverTheyAreGiven) {
  CUdeviceptr memory = 0;
  EXPECT_EQ(cu_.MemAlloc(&memory, kChunk), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
  Begin();
  EXPECT_EQ(cu_.MemAlloc(&memory, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
  Begin();
  EXPECT_EQ(cu_.MemFree(0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
  Begin();
  {
    const Relaxed relaxed;
    CU_OK(cu_.MemAlloc(&memory, kChunk));
    CU_OK(cu_.MemFree(memory));
    EXPECT_TRUE(Alive());
  }
  CU_EXPECT_OK(End());
}

TEST_F(GlobalCapture, RelaxedThreadMaySynchronizeStreamsAndEvents) {
  {
    const Relaxed relaxed;
    CU_OK(cu_.MemcpyAsync(chunks_.at(1), chunks_.at(0), kChunk, other_.get()));
    CU_OK(cu_.EventRecord(event_, other_.get()));
    CU_OK(cu_.EventSynchronize(event_));
    CU_OK(cu_.StreamSynchronize(other_.get()));
    size_t free = 0;
    size_t total = 0;
    CU_OK(cu_.MemGetInfo(&free, &total));
    EXPECT_TRUE(Alive());
  }
  CU_EXPECT_OK(End());
}

TEST_F(GlobalCapture, BindsTheOtherThreadsToo) {
  CUresult relaxed_result = CUDA_ERROR_UNKNOWN;
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    const Current current(world_.primary());
    {
      const Relaxed relaxed;
      relaxed_result = cu_.StreamSynchronize(other_.get());
    }
    result = cu_.StreamSynchronize(other_.get());
  }).join();
  EXPECT_EQ(relaxed_result, CUDA_SUCCESS);
  EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
}

TEST_F(GlobalCapture, ContextSynchronizeRuinsItInEitherMode) {
  EXPECT_EQ(cu_.CtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined();
  Begin();
  {
    const Relaxed relaxed;
    EXPECT_EQ(cu_.CtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  ExpectRuined();
}

TEST_F(GlobalCapture, LegacySynchronousCopyRuinsItInEitherMode) {
  EXPECT_EQ(world_.MemcpyDtoD(chunks_.at(1), chunks_.at(0), 64),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  ExpectRuined();
  Begin();
  {
    const Relaxed relaxed;
    EXPECT_EQ(world_.MemcpyDtoD(chunks_.at(1), chunks_.at(0), 64),
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  ExpectRuined();
}

}  // namespace
}  // namespace vramspan::conformance
