// The functions of vramspan.h on what they cannot accept: the CUresult, a sentence with the value,
// out-parameters as they were, and a runtime that works on as if nothing had been asked.
#include <cstdint>
#include <limits>
#include <thread>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kHuge = std::numeric_limits<size_t>::max();
constexpr CUdeviceptr kUntouched = 42;

class RuntimeTest : public MoverTest {
 protected:
  RuntimeTest() : stream_(world_.NewStream()), buffers_(runtime_.Filled(6, kChunk, stream_)) {}
  ~RuntimeTest() override {
    for (Buffer& b : buffers_) {
      runtime_.Add(b, 5, stream_);
    }
    runtime_.Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    const vramspanStatistics s = runtime_.stats();
    EXPECT_EQ(s.allocations, buffers_.size()) << "something was allocated or freed";
    EXPECT_EQ(s.allocated_bytes, buffers_.size() * kChunk);
    EXPECT_LE(s.device_used, s.device_budget);
    EXPECT_SPAN(runtime_.Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  vramspanRuntime get() const { return runtime_.get(); }
  // Refused with a sentence that holds `says`.
  static void ExpectRefused(CUresult result, CUresult expected, const std::string& says) {
    EXPECT_EQ(result, expected) << LastError();
    EXPECT_NE(LastError().find(says), std::string::npos)
        << "no '" << says << "' in: " << LastError();
  }
  static std::string Hex(CUdeviceptr p) {
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", p);
    return text;
  }

  const Watchdog watchdog_{"a test of bad input", 60};
  TestRuntime runtime_{world_};
  const CUstream stream_;
  std::vector<Buffer> buffers_;
};

TEST_F(RuntimeTest, NoRuntime) {
  CUdeviceptr p = kUntouched;
  size_t size = 7;
  vramspanResidency residency{};
  vramspanStatistics statistics{};
  const CUresult results[] = {
      vramspanDestroy(nullptr),
      vramspanMemAlloc(nullptr, &p, 1),
      vramspanMemFree(nullptr, buffers_[0].ptr),
      vramspanWorkBegin(nullptr, stream_, nullptr, 0),
      vramspanWorkEnd(nullptr, stream_),
      vramspanStreamForget(nullptr, stream_),
      vramspanMemAdvise(nullptr, buffers_[0].ptr, 1, VRAMSPAN_ADVISE_NONE),
      vramspanMemPrefetchAsync(nullptr, buffers_[0].ptr, 1, VRAMSPAN_LOCATION_HOST, stream_),
      vramspanMemDiscard(nullptr, buffers_[0].ptr, 1, stream_),
      vramspanMemPin(nullptr, buffers_[0].ptr, 1),
      vramspanMemUnpin(nullptr, buffers_[0].ptr, 1),
      vramspanSetDeviceBudget(nullptr, kChunk),
      vramspanSetHostBudget(nullptr, kChunk),
      vramspanSetPeerAccess(nullptr, 1, 1),
      vramspanSynchronize(nullptr),
      vramspanTakeBackgroundError(nullptr),
      vramspanMemResidency(nullptr, buffers_[0].ptr, 1, &residency),
      vramspanMemGetAddressRange(nullptr, &p, &size, buffers_[0].ptr),
      vramspanGetStatistics(nullptr, &statistics)};
  for (const CUresult r : results) ExpectRefused(r, CUDA_ERROR_INVALID_VALUE, "runtime is NULL");
  EXPECT_EQ(p, kUntouched);
  EXPECT_EQ(size, 7u);
}

TEST_F(RuntimeTest, NowhereToPutTheAnswer) {
  ExpectRefused(vramspanMemAlloc(get(), nullptr, 64), CUDA_ERROR_INVALID_VALUE, "out-parameter");
  ExpectRefused(vramspanMemResidency(get(), buffers_[0].ptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE,
                "out-parameter");
  ExpectRefused(vramspanGetStatistics(get(), nullptr), CUDA_ERROR_INVALID_VALUE, "out-parameter");
  // Half an answer is one.
  EXPECT_SPAN(vramspanMemGetAddressRange(get(), nullptr, nullptr, buffers_[0].ptr));
  vramspanStatistics s{};
  s.struct_size = sizeof(s) + 8;
  s.works = 77;
  ExpectRefused(vramspanGetStatistics(get(), &s), CUDA_ERROR_INVALID_VALUE,
                "struct_size is " + std::to_string(sizeof(s) + 8));
  EXPECT_EQ(s.works, 77u);
}

TEST_F(RuntimeTest, SizesOfAllocations) {
  CUdeviceptr p = kUntouched;
  const vramspanStatistics before = runtime_.stats();
  ExpectRefused(vramspanMemAlloc(get(), &p, 0), CUDA_ERROR_INVALID_VALUE, "0 bytes");
  // More than there are addresses, in steps towards what no sum may overflow.
  for (const size_t size :
       {size_t{17} << 30, size_t{1} << 47, size_t{1} << 63, kHuge - kChunk, kHuge - 1, kHuge}) {
    ExpectRefused(vramspanMemAlloc(get(), &p, size), CUDA_ERROR_OUT_OF_MEMORY,
                  std::to_string(size));
  }
  // Addresses enough, but more than both budgets.
  ExpectRefused(vramspanMemAlloc(get(), &p, size_t{1200} * kMiB), CUDA_ERROR_OUT_OF_MEMORY,
                "host budget");
  EXPECT_EQ(p, kUntouched);
  const vramspanStatistics after = runtime_.stats();
  EXPECT_LE(after.device_used + after.host_used, before.device_used + before.host_used);
}

TEST_F(RuntimeTest, FreesOfWhatIsNoAllocation) {
  CUdeviceptr foreign = 0, small = 0, other_small = 0;
  EXPECT_CU(world_.api().MemAlloc(&foreign, kChunk));
  EXPECT_SPAN(vramspanMemAlloc(get(), &small, 1000));
  EXPECT_SPAN(vramspanMemAlloc(get(), &other_small, 1000));
  int on_stack = 0;
  EXPECT_SPAN(vramspanMemFree(get(), 0)) << "as with cuMemFree";
  for (const CUdeviceptr p :
       {foreign, reinterpret_cast<CUdeviceptr>(&on_stack), CUdeviceptr{0xdead}, ~CUdeviceptr{0},
        buffers_[0].ptr + 1, buffers_[0].ptr + 256, buffers_[0].ptr + kChunk - 1, small + 1,
        small + 256}) {
    ExpectRefused(vramspanMemFree(get(), p), CUDA_ERROR_INVALID_VALUE, Hex(p));
  }
  EXPECT_SPAN(vramspanMemFree(get(), small));
  EXPECT_SPAN(vramspanMemFree(get(), other_small));
  EXPECT_CU(world_.api().MemFree(foreign));
}

TEST_F(RuntimeTest, FreesOfWhatIsFree) {
  // Where no work is recorded, what is freed waits for its users in another way.
  RuntimeOptions options;
  options.device_memory = "64MiB";
  const TestRuntime roomy(world_, options);
  for (vramspanRuntime const runtime : {get(), roomy.get()}) {
    CUdeviceptr large = 0, small = 0, neighbour = 0;
    EXPECT_SPAN(vramspanMemAlloc(runtime, &large, kChunk));
    EXPECT_SPAN(vramspanMemAlloc(runtime, &small, 300));
    EXPECT_SPAN(vramspanMemAlloc(runtime, &neighbour, 300));  // Keeps the chunk of both.
    for (const CUdeviceptr p : {large, small}) {
      EXPECT_SPAN(vramspanMemFree(runtime, p));
      for (int again = 0; again < 2; ++again) {
        ExpectRefused(vramspanMemFree(runtime, p), CUDA_ERROR_INVALID_VALUE, Hex(p));
        size_t size = 7;
        CUdeviceptr base = kUntouched;
        ExpectRefused(vramspanMemGetAddressRange(runtime, &base, &size, p), CUDA_ERROR_NOT_FOUND,
                      "0x");
        EXPECT_EQ(base, kUntouched);
        EXPECT_EQ(size, 7u);
        EXPECT_SPAN(vramspanSynchronize(runtime));
      }
    }
    EXPECT_SPAN(vramspanMemFree(runtime, neighbour));
  }
}

TEST_F(RuntimeTest, RangesOfAScope) {
  const Buffer& b = buffers_[0];
  for (const uint32_t access : {0u, 0x100u, 0x80000001u}) {
    const vramspanRange range = b.range(access);
    ExpectRefused(vramspanWorkBegin(get(), stream_, &range, 1), CUDA_ERROR_INVALID_VALUE,
                  "access is " + std::to_string(access));
  }
  ExpectRefused(vramspanWorkBegin(get(), stream_, nullptr, 3), CUDA_ERROR_INVALID_VALUE, "ranges");
  // No scope is open after any of these.
  ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "no work scope");

  // What is not ours is ignored, what is too long is clipped, what is nothing is at most its chunk.
  const vramspanRange ranges[] = {{0xdead, 100, VRAMSPAN_READ, 0},
                                  {b.ptr, kHuge, VRAMSPAN_READ, 0},
                                  {b.ptr + kChunk - 1, kHuge, VRAMSPAN_READ, 0},
                                  {buffers_[1].ptr, 0, VRAMSPAN_READ, 0},
                                  {0, 0, VRAMSPAN_READ, 0},
                                  {~CUdeviceptr{0}, kHuge, VRAMSPAN_WRITE, 0}};
  EXPECT_SPAN(vramspanWorkBegin(get(), stream_, ranges, std::size(ranges)));
  EXPECT_SPAN(vramspanWorkEnd(get(), stream_));
}

TEST_F(RuntimeTest, ScopesThatAreNotOpenOrOpenAlready) {
  const vramspanRange range = buffers_[0].range(VRAMSPAN_READ);
  ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "no work scope is open");
  EXPECT_SPAN(vramspanWorkBegin(get(), stream_, &range, 1));
  ExpectRefused(vramspanWorkBegin(get(), stream_, &range, 1), CUDA_ERROR_ILLEGAL_STATE, "nest");
  ExpectRefused(vramspanSynchronize(get()), CUDA_ERROR_ILLEGAL_STATE, "inside a work scope");
  std::thread([&] {
    ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "on this thread");
  }).join();
  TestRuntime other(world_);
  ExpectRefused(vramspanWorkEnd(other.get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "another runtime");
  EXPECT_SPAN(vramspanWorkEnd(get(), stream_));
  ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "no work scope is open");

  // Ended on a stream it was not opened on, it is ended all the same.
  EXPECT_SPAN(vramspanWorkBegin(get(), stream_, &range, 1));
  ExpectRefused(vramspanWorkEnd(get(), nullptr), CUDA_ERROR_INVALID_VALUE, "another stream");
  ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "no work scope is open");
}

TEST_F(RuntimeTest, ScopesInAnotherContext) {
  CUcontext other = nullptr;
  CUctxCreateParams params{};
  ASSERT_CU(world_.api().CtxCreate(&other, &params, 0, 0));
  const vramspanRange range = buffers_[0].range(VRAMSPAN_READ);
  ExpectRefused(vramspanWorkBegin(get(), stream_, &range, 1), CUDA_ERROR_ILLEGAL_STATE,
                "another context");
  ExpectRefused(vramspanWorkEnd(get(), stream_), CUDA_ERROR_ILLEGAL_STATE, "no work scope is open");
  EXPECT_CU(world_.api().CtxDestroy(other));
  EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
}

TEST_F(RuntimeTest, PlacesThatAreNotOurs) {
  int on_stack = 0;
  CUdeviceptr freed = 0;
  EXPECT_SPAN(vramspanMemAlloc(get(), &freed, kChunk));
  EXPECT_SPAN(vramspanMemFree(get(), freed));
  for (const CUdeviceptr p : {CUdeviceptr{0}, CUdeviceptr{0xdead}, freed,
                              reinterpret_cast<CUdeviceptr>(&on_stack), ~CUdeviceptr{0}}) {
    SCOPED_TRACE(Hex(p));
    const std::string says = "live allocation";
    vramspanResidency residency{1, 2, 3, 4};
    CUdeviceptr base = kUntouched;
    size_t size = 7;
    ExpectRefused(vramspanMemAdvise(get(), p, 1, VRAMSPAN_ADVISE_KEEP_ON_DEVICE),
                  CUDA_ERROR_INVALID_VALUE, says);
    ExpectRefused(vramspanMemPrefetchAsync(get(), p, 1, VRAMSPAN_LOCATION_DEVICE, stream_),
                  CUDA_ERROR_NOT_FOUND, says);
    ExpectRefused(vramspanMemDiscard(get(), p, 1, stream_), CUDA_ERROR_NOT_FOUND, says);
    ExpectRefused(vramspanMemPin(get(), p, 1), CUDA_ERROR_INVALID_VALUE, says);
    ExpectRefused(vramspanMemUnpin(get(), p, 1), CUDA_ERROR_INVALID_VALUE, says);
    ExpectRefused(vramspanMemResidency(get(), p, 1, &residency), CUDA_ERROR_INVALID_VALUE, says);
    ExpectRefused(vramspanMemGetAddressRange(get(), &base, &size, p), CUDA_ERROR_NOT_FOUND, says);
    EXPECT_EQ(residency.host_bytes, 2u);
    EXPECT_EQ(base, kUntouched);
    EXPECT_EQ(size, 7u);
  }
}

TEST_F(RuntimeTest, ValuesThatAreNone) {
  const CUdeviceptr p = buffers_[0].ptr;
  for (const int value : {-1, 5, 99}) {
    ExpectRefused(vramspanMemAdvise(get(), p, 1, static_cast<vramspanAdvice>(value)),
                  CUDA_ERROR_INVALID_VALUE, "unknown advice " + std::to_string(value));
    ExpectRefused(
        vramspanMemPrefetchAsync(get(), p, 1, static_cast<vramspanLocation>(value), stream_),
        CUDA_ERROR_INVALID_VALUE, "unknown location " + std::to_string(value));
  }
  for (const size_t bytes : {size_t{0}, size_t{1}, kChunk - 1}) {
    ExpectRefused(vramspanSetDeviceBudget(get(), bytes), CUDA_ERROR_INVALID_VALUE,
                  std::to_string(bytes) + " bytes");
  }
  for (const size_t bytes : {size_t{1} << 50, kHuge}) {
    ExpectRefused(vramspanSetDeviceBudget(get(), bytes), CUDA_ERROR_INVALID_VALUE,
                  std::to_string(bytes) + " bytes is more than the device's");
    ExpectRefused(vramspanSetHostBudget(get(), bytes), CUDA_ERROR_INVALID_VALUE,
                  std::to_string(bytes) + " bytes is more than the machine's");
  }
  EXPECT_EQ(runtime_.stats().device_budget, 4 * kChunk);
  EXPECT_EQ(runtime_.stats().host_budget, size_t{1} << 30);
}

TEST_F(RuntimeTest, PinsThatAreNot) {
  const Buffer& b = buffers_[0];
  ExpectRefused(vramspanMemUnpin(get(), b.ptr, b.bytes()), CUDA_ERROR_INVALID_VALUE, "not pinned");
  EXPECT_SPAN(vramspanMemPin(get(), b.ptr, b.bytes()));
  EXPECT_SPAN(vramspanMemUnpin(get(), b.ptr, b.bytes()));
  ExpectRefused(vramspanMemUnpin(get(), b.ptr, b.bytes()), CUDA_ERROR_INVALID_VALUE, "not pinned");
}

// Errors belong to the thread that made them, and outlive later successes.
TEST_F(RuntimeTest, MessagesBelongToThreads) {
  ExpectRefused(vramspanMemFree(get(), 0xabc000), CUDA_ERROR_INVALID_VALUE, "0xabc000");
  std::thread([&] {
    EXPECT_STREQ(vramspanLastErrorMessage(), "");
    ExpectRefused(vramspanMemFree(get(), 0xdef000), CUDA_ERROR_INVALID_VALUE, "0xdef000");
  }).join();
  EXPECT_SPAN(vramspanTakeBackgroundError(get()));
  EXPECT_NE(LastError().find("0xabc000"), std::string::npos);
}

TEST_F(RuntimeTest, StreamsThatWereNeverSeen) {
  const CUstream other = world_.NewStream();
  EXPECT_SPAN(vramspanStreamForget(get(), other)) << "nothing to forget";
  EXPECT_SPAN(vramspanStreamForget(get(), stream_));
  EXPECT_SPAN(vramspanStreamForget(get(), stream_)) << "twice";
  EXPECT_CU(world_.api().StreamDestroy(other));
}

}  // namespace
}  // namespace vramspan_test
