// What the counters say of kernels that read and write memory of either kind: on the simulated
// driver in every build, on a real one by hand.
#include "tests/audit/counters.h"

#include <cupti.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/conformance/fixture.h"

namespace vramspan::audit_test {
namespace {

using conformance::Chunks;
using conformance::kChunk;
using conformance::Launch;
using conformance::Must;
using conformance::Stream;
using conformance::Where;
using Word = unsigned long long;

constexpr uint64_t kSectors = kChunk / VRAMSPAN_SECTOR_BYTES;
constexpr size_t kWords = kChunk / sizeof(Word);
// What a kernel may take from host memory though all of its own is on the device: the driver's
// queues and semaphores are there.
constexpr uint64_t kNoise = 1024;

class CountersTest : public conformance::Conformance {
 protected:
  void Fill(CUdeviceptr at, Word value) {
    Must(Launch(world_.Kernel("fill"), 64, 256, stream_.get(), at, kWords, value),
         "cuLaunchKernel");
  }
  void Read(CUdeviceptr at) {
    Must(Launch(world_.Kernel("checksum"), 64, 256, stream_.get(), at, kWords, out_.at(0)),
         "cuLaunchKernel");
  }
  void Wait() { Must(cu_.StreamSynchronize(stream_.get()), "cuStreamSynchronize"); }
  template <typename Work>
  void Count(Counters& counters, uint64_t tag, Work work) {
    Wait();
    ASSERT_TRUE(counters.Begin(tag));
    work();
    Wait();
    ASSERT_TRUE(counters.End());
  }
  // Allows for sectors that are asked for twice.
  static void ExpectAbout(uint64_t value, uint64_t wanted) {
    EXPECT_GE(value, wanted);
    EXPECT_LE(value, 2 * wanted + kNoise);
  }

  Stream stream_;
  Chunks out_{{Where::kDevice}};
  Chunks chunks_{{Where::kDevice, Where::kHostNuma, Where::kDevice, Where::kHostNuma}};
};

TEST_F(CountersTest, TellReadsFromWritesAndHostFromDevice) {
  for (size_t i = 0; i < 4; ++i) Fill(chunks_.at(i), 1);
  Wait();
  Counters counters(world_.primary(), world_.device());
  ASSERT_TRUE(counters.ok()) << counters.error();
  Count(counters, 10, [&] { Read(chunks_.at(0)); });
  Count(counters, 11, [&] { Read(chunks_.at(1)); });
  Count(counters, 12, [&] { Fill(chunks_.at(2), 2); });
  Count(counters, 13, [&] { Fill(chunks_.at(3), 2); });
  Count(counters, 14,
        [&] { Must(Launch(world_.Kernel("nothing"), 1, 1, stream_.get()), "cuLaunchKernel"); });
  ASSERT_TRUE(counters.Flush());
  for (const vramspanCounted& c : counters.counted) {
    std::printf("  range %llu: host %llu read, %llu written; device %llu%s\n",
                static_cast<Word>(c.tag), static_cast<Word>(c.host_reads),
                static_cast<Word>(c.host_writes), static_cast<Word>(c.device),
                c.has_device != 0 ? "" : " (unknown)");
  }
  ASSERT_EQ(counters.counted.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(counters.counted[i].tag, 10 + i);
  const auto& c = counters.counted;
  ASSERT_EQ(c[0].has_device, 1u);
  ExpectAbout(c[0].device, kSectors);
  EXPECT_LE(c[0].host_reads + c[0].host_writes, kNoise);
  ExpectAbout(c[1].host_reads, kSectors);
  EXPECT_LE(c[1].host_writes, kNoise);
  ExpectAbout(c[2].device, kSectors);
  EXPECT_LE(c[2].host_reads + c[2].host_writes, kNoise);
  ExpectAbout(c[3].host_writes, kSectors);
  EXPECT_LE(c[3].host_reads, kNoise);
  EXPECT_LE(c[4].host_reads + c[4].host_writes, kNoise);
}

TEST_F(CountersTest, NoRangeIsLostInMany) {
  Counters counters(world_.primary(), world_.device());
  ASSERT_TRUE(counters.ok()) << counters.error();
  constexpr size_t kRanges = 200;
  const auto begun = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kRanges; ++i) {
    Count(counters, i, [&] {
      if (i % 3 == 0) Read(chunks_.at(1));
    });
  }
  ASSERT_TRUE(counters.Close());
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
  std::printf("  %.0f us a range\n", took.count() / kRanges);
  ASSERT_EQ(counters.counted.size(), kRanges);
  for (size_t i = 0; i < kRanges; ++i) {
    EXPECT_EQ(counters.counted[i].tag, i);
    const uint64_t reads = counters.counted[i].host_reads;
    if (i % 3 == 0) {
      ExpectAbout(reads, kSectors);
    } else {
      EXPECT_LE(reads, kNoise) << i;
    }
  }
}

TEST_F(CountersTest, CanBeOpenedAgain) {
  for (int i = 0; i < 2; ++i) {
    Counters counters(world_.primary(), world_.device());
    ASSERT_TRUE(counters.ok()) << counters.error();
    Count(counters, 0, [&] { Read(chunks_.at(1)); });
    ASSERT_TRUE(counters.Close());
    ASSERT_EQ(counters.counted.size(), 1u);
    ExpectAbout(counters.counted[0].host_reads, kSectors);
  }
}

// As the runtime does it: from inside the callbacks of a launch.
Counters* inside = nullptr;
CUstream inside_stream = nullptr;
void BeginInside(uint32_t, const void*, CUcontext, uint64_t*) {
  if (inside == nullptr) return;
  EXPECT_TRUE(inside->Begin(7));
}
void EndInside(uint32_t, const void*, CUresult, uint64_t) {
  if (inside == nullptr) return;
  EXPECT_EQ(conformance::World::Get().cu().StreamSynchronize(inside_stream), CUDA_SUCCESS);
  EXPECT_TRUE(inside->End());
}
void LostInside(const char* why) { ADD_FAILURE() << why; }

TEST_F(CountersTest, CountInsideTheCallbacksOfALaunch) {
  static const uint32_t kCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel};
  static const vramspanLaunchSink kSink = {
      VRAMSPAN_LAUNCH_SOURCE_VERSION, 1, kCalls, &BeginInside, &EndInside, &LostInside};
  const auto start =
      reinterpret_cast<vramspanLaunchSourceStart_t>(TracerSymbol(VRAMSPAN_LAUNCH_SOURCE_START));
  ASSERT_NE(start, nullptr);
  char error[512] = "";
  ASSERT_EQ(start(&kSink, CuptiBesideDriver(), error, sizeof(error)), 0) << error;
  Counters counters(world_.primary(), world_.device());
  ASSERT_TRUE(counters.ok()) << counters.error();
  Wait();
  inside = &counters;
  inside_stream = stream_.get();
  for (int i = 0; i < 3; ++i) Read(chunks_.at(1));
  inside = nullptr;
  ASSERT_TRUE(counters.Flush());
  ASSERT_EQ(counters.counted.size(), 3u);
  for (const vramspanCounted& c : counters.counted) ExpectAbout(c.host_reads, kSectors);
}

}  // namespace
}  // namespace vramspan::audit_test
