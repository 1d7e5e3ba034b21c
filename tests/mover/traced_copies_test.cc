// Copies, fills, and what streams wait for and write: work that names its bytes exactly. It keeps
// them where they are while it runs, keeps nothing else, and has nothing fetched.
#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/api/tracing.h"
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

using ::testing::Contains;
using ::testing::Not;
using vramspan::Tracing;

constexpr size_t kRow = 4096;
constexpr size_t kRows = kChunk / kRow;

std::vector<Word> ContentsOf(const Buffer& b) {
  std::vector<Word> words(b.words);
  for (size_t i = 0; i < words.size(); ++i) words[i] = HashWord(i, b.seed) + b.add;
  return words;
}

CUDA_MEMCPY2D Rows2D(CUdeviceptr to, CUdeviceptr from, size_t rows, size_t pitch) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = pitch;
  copy.WidthInBytes = kRow;
  copy.Height = rows;
  return copy;
}

CUDA_MEMCPY3D Layers3D(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = kRow;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = kRow;
  copy.Height = 4;
  copy.Depth = bytes / kRow / 4;
  return copy;
}

class TracedCopies : public TracedTest {
 protected:
  CUresult Batch(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    CUdeviceptr tos[] = {to, to + bytes / 2}, froms[] = {from, from + bytes / 2};
    size_t sizes[] = {bytes / 2, bytes / 2};
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t index = 0;
    return DRIVER(cuMemcpyBatchAsync)(tos, froms, sizes, 2, &attributes, &index, 1, stream);
  }

  // Two boxes of rows, of which the second half of the bytes is one.
  CUresult Batch3D(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    CUDA_MEMCPY3D_BATCH_OP ops[2] = {};
    for (const size_t half : {0, 1}) {
      CUDA_MEMCPY3D_BATCH_OP& op = ops[half];
      op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
      op.src.op.ptr.ptr = from + half * bytes / 2;
      op.dst.op.ptr.ptr = to + half * bytes / 2;
      op.src.op.ptr.rowLength = kRow;
      op.dst.op.ptr.layerHeight = 4;
      op.extent = {kRow, 4, bytes / 2 / kRow / 4};
      op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    }
    return DRIVER(cuMemcpy3DBatchAsync)(2, ops, 0, stream);
  }

  // Ways to make one buffer's contents those of another, with the number of calls it takes.
  struct Way {
    const char* name;
    uint64_t calls;
    std::function<void(CUdeviceptr to, const Buffer& from)> copy;
  };
  std::vector<Way> Ways();
  std::vector<Word> host_;
};
// The driver may take its time for a remap; what it would look up meanwhile waits.
TEST_P(TracedCopies, WaitForARemapHoweverLongItTakes) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({2}));
  const long long unmaps = world_.call_count("cuMemUnmap");
  world_.set_delay("cuMemMap", 1'500'000);
  Add(2, 1, stream_);
  // Of what goes to make room, or of what comes: one of them is without a mapping.
  ASSERT_TRUE(Eventually([&] { return world_.call_count("cuMemUnmap") > unmaps; }));
  Word word = 0;
  for (const Buffer& b : buffers_) {
    EXPECT_CU(DRIVER(cuMemcpyDtoHAsync)(&word, b.ptr, sizeof(word), stream_));
  }
  world_.set_delay("cuMemMap", 0);
  Wait(stream_);
}

TEST_P(TracedCopies, CountWhatTheyUseInHostMemory) {
  constexpr size_t kCopied = size_t{64} << 10, kFilled = size_t{4} << 10;
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0}));
  const CUdeviceptr there = buffers_[0].ptr;
  const std::vector<Word> contents = ContentsOf(buffers_[0]);
  const vramspanStatistics before = runtime_->stats();
  EXPECT_CU(DRIVER(cuMemsetD8Async)(there, 7, kFilled, stream_));
  EXPECT_CU(DRIVER(cuMemcpyHtoDAsync)(there, contents.data(), kFilled, stream_));
  std::vector<Word> words(kCopied / sizeof(Word));
  EXPECT_CU(DRIVER(cuMemcpyDtoHAsync)(words.data(), there, kCopied, stream_));
  // This lies on the device.
  EXPECT_CU(DRIVER(cuMemcpyDtoHAsync)(words.data(), buffers_[1].ptr, kCopied, stream_));
  Wait(stream_);
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(DeviceBytes(0), 0u);
  EXPECT_EQ(after.bytes_in_place, before.bytes_in_place + kCopied + 2 * kFilled);
  EXPECT_EQ(after.works_in_place, before.works_in_place + 3);
}

INSTANTIATE_TRACED(TracedCopies);

std::vector<TracedCopies::Way> TracedCopies::Ways() {
  const auto from_host = [this](CUdeviceptr to, const Buffer& from) {
    Wait(stream_);
    host_ = ContentsOf(from);
    EXPECT_CU(world_.api().MemcpyHtoDAsync(to, host_.data(), kChunk, stream_));
  };
  return {
      {"DtoDAsync", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         EXPECT_CU(world_.api().MemcpyDtoDAsync(to, from.ptr, kChunk, stream_));
       }},
      {"DtoD", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         Wait(stream_);
         EXPECT_CU(DRIVER(cuMemcpyDtoD)(to, from.ptr, kChunk));
         Wait(nullptr);
       }},
      {"Async", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         EXPECT_CU(DRIVER(cuMemcpyAsync)(to, from.ptr, kChunk, stream_));
       }},
      {"PeerAsync", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         EXPECT_CU(DRIVER(cuMemcpyPeerAsync)(to, world_.context(), from.ptr, world_.context(),
                                             kChunk, stream_));
       }},
      {"HtoDAsync", 1, from_host},
      {"DtoHAsync and HtoD", 2,
       [this](CUdeviceptr to, const Buffer& from) {
         host_.assign(kChunkWords, 0);
         EXPECT_CU(world_.api().MemcpyDtoHAsync(host_.data(), from.ptr, kChunk, stream_));
         Wait(stream_);
         EXPECT_CU(DRIVER(cuMemcpyHtoD)(to, host_.data(), kChunk));
       }},
      {"2D", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         const CUDA_MEMCPY2D copy = Rows2D(to, from.ptr, kRows, kRow);
         EXPECT_CU(DRIVER(cuMemcpy2DAsync)(&copy, stream_));
       }},
      {"2D, every other row", 2,
       [this](CUdeviceptr to, const Buffer& from) {
         for (const size_t first : {0, 1}) {
           const CUDA_MEMCPY2D copy =
               Rows2D(to + first * kRow, from.ptr + first * kRow, kRows / 2, 2 * kRow);
           EXPECT_CU(DRIVER(cuMemcpy2DAsync)(&copy, stream_));
         }
       }},
      {"3D", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         const CUDA_MEMCPY3D copy = Layers3D(to, from.ptr, kChunk);
         EXPECT_CU(DRIVER(cuMemcpy3DAsync)(&copy, stream_));
       }},
      {"3D, of peers", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         CUDA_MEMCPY3D_PEER copy{};
         copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
         copy.srcContext = copy.dstContext = world_.context();
         copy.srcDevice = from.ptr;
         copy.dstDevice = to;
         copy.srcPitch = copy.dstPitch = copy.WidthInBytes = kRow;
         copy.Height = copy.srcHeight = copy.dstHeight = 4;
         copy.Depth = kRows / 4;
         EXPECT_CU(DRIVER(cuMemcpy3DPeerAsync)(&copy, stream_));
       }},
      {"a batch", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         EXPECT_CU(Batch(to, from.ptr, kChunk, stream_));
       }},
      {"a batch of boxes", 1,
       [this](CUdeviceptr to, const Buffer& from) {
         EXPECT_CU(Batch3D(to, from.ptr, kChunk, stream_));
       }},
  };
}

TEST_P(TracedCopies, ServedWhereTheirMemoryIs) {
  ASSERT_NO_FATAL_FAILURE(Start());
  size_t to = 0, from = 1;
  for (const Way& way : Ways()) {
    SCOPED_TRACE(way.name);
    Add(from, 3, stream_);
    ExpectServed({to, from}, way.calls, [&] { way.copy(buffers_[to].ptr, buffers_[from]); });
    Copied(to, from);
    Wait(stream_);
    EXPECT_EQ(world_.Wrong(buffers_[to]), "");
    to = (to + 1) % buffers_.size();
    from = (from + 3) % buffers_.size();
    if (to == from) from = (from + 1) % buffers_.size();
  }
}

TEST_P(TracedCopies, RightWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(10));
  Wait(stream_);
  Pressure pressure(this, {0, 1, 2, 3, 4});
  for (int round = 0; round < 3; ++round) {
    size_t k = 0;
    for (const Way& way : Ways()) {
      SCOPED_TRACE(way.name);
      const size_t to = 5 + k % 5, from = 5 + (k + 2) % 5;
      ++k;
      Add(from, 1, stream_);
      way.copy(buffers_[to].ptr, buffers_[from]);
      Copied(to, from);
      Add(to, 1, stream_);
    }
  }
  Wait(stream_);
}

TEST_P(TracedCopies, Fills) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUdeviceptr p = buffers_[5].ptr;
  struct Fill {
    const char* name;
    Word word;
    std::function<CUresult()> fill;
  };
  const Fill fills[] = {
      {"D8", 0x2a2a2a2a2a2a2a2aull,
       [&] { return world_.api().MemsetD8Async(p, 0x2a, kChunk, stream_); }},
      {"D16", 0x1234123412341234ull,
       [&] { return DRIVER(cuMemsetD16Async)(p, 0x1234, kChunk / 2, stream_); }},
      {"D32", 0x8765432187654321ull,
       [&] { return DRIVER(cuMemsetD32Async)(p, 0x87654321u, kChunk / 4, stream_); }},
      {"D2D8", 0x0101010101010101ull,
       [&] { return DRIVER(cuMemsetD2D8Async)(p, kRow, 1, kRow, kRows, stream_); }},
      {"D2D32", 0x0000000700000007ull,
       [&] { return DRIVER(cuMemsetD2D32Async)(p, kRow, 7, kRow / 4, kRows, stream_); }},
      {"D32, not async", 0x0000000900000009ull,
       [&] { return DRIVER(cuMemsetD32)(p, 9, kChunk / 4); }},
  };
  for (const Fill& fill : fills) {
    SCOPED_TRACE(fill.name);
    Wait(stream_);
    ExpectServed({5}, 1, [&] { EXPECT_CU(fill.fill()); });
    Wait(stream_);
    Wait(nullptr);
    std::vector<Word> words(kChunkWords);
    EXPECT_CU(world_.api().MemcpyDtoHAsync(words.data(), p, kChunk, stream_));
    Wait(stream_);
    EXPECT_EQ(std::count(words.begin(), words.end(), fill.word),
              static_cast<ptrdiff_t>(kChunkWords));
  }
  EXPECT_CU(world_.LaunchFill(buffers_[5], stream_));
}

// Of an allocation of three chunks, work that has not run yet names a part: what chunks that lies
// in stay, and the others go.
TEST_P(TracedCopies, NameTheirBytesAndNoMore) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Buffer& b = NewBuffer(3 * kChunk);
  // From the middle of the first chunk to that of the second.
  const CUdeviceptr p = b.ptr, middle = b.ptr + kChunk / 2;
  CUdeviceptr foreign = 0, same = 0;
  ASSERT_CU(world_.api().MemAlloc(&foreign, kChunk));
  ASSERT_CU(world_.api().MemAlloc(&same, kChunk));
  EXPECT_CU(world_.api().MemcpyDtoDAsync(same, middle, kChunk, stream_));
  HostFlag flag(world_);
  const CUstream parked = NewStream();
  const Word first = HashWord(0, b.seed);
  CUstreamBatchMemOpParams op{};
  op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  op.writeValue.address = p;
  op.writeValue.value64 = first;
  struct Call {
    const char* name;
    size_t chunks;  // That it names, from the first on.
    std::function<CUresult()> submit;
  };
  const Call calls[] = {
      {"DtoD from it", 2,
       [&] { return world_.api().MemcpyDtoDAsync(foreign, middle, kChunk, parked); }},
      {"DtoD to it", 2, [&] { return world_.api().MemcpyDtoDAsync(middle, same, kChunk, parked); }},
      {"2D", 2,
       [&] {
         const CUDA_MEMCPY2D copy = Rows2D(foreign, middle, kRows / 2, 2 * kRow);
         return DRIVER(cuMemcpy2DAsync)(&copy, parked);
       }},
      {"3D", 2,
       [&] {
         const CUDA_MEMCPY3D copy = Layers3D(foreign, middle, kChunk);
         return DRIVER(cuMemcpy3DAsync)(&copy, parked);
       }},
      {"a batch", 2, [&] { return Batch(foreign, middle, kChunk, parked); }},
      {"a batch of boxes", 2, [&] { return Batch3D(foreign, middle, kChunk, parked); }},
      {"write of a value", 1, [&] { return DRIVER(cuStreamWriteValue64)(parked, p, first, 0); }},
      {"wait for a value", 1,
       [&] { return DRIVER(cuStreamWaitValue64)(parked, p, first, CU_STREAM_WAIT_VALUE_EQ); }},
      {"batch of operations", 1, [&] { return DRIVER(cuStreamBatchMemOp)(parked, 1, &op, 0); }},
  };
  const auto move = [&](vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), p, b.bytes(), to, stream_));
  };
  unsigned turn = 0;
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    move(VRAMSPAN_LOCATION_DEVICE);
    runtime_->Synchronize();
    ASSERT_EQ(runtime_->OnDevice(b), 3 * kChunk);
    EXPECT_CU(flag.ParkIn(parked, ++turn));
    EXPECT_CU(call.submit());
    const uint64_t stalled = runtime_->stats().stall_drain_ns;
    move(VRAMSPAN_LOCATION_HOST);
    EXPECT_TRUE(Eventually([&] { return runtime_->OnDevice(b) == call.chunks * kChunk; }));
    // The mover has looked at the rest again and again.
    EXPECT_TRUE(Eventually([&] { return runtime_->stats().stall_drain_ns > stalled + 5'000'000; }));
    vramspanResidency named{};
    EXPECT_SPAN(vramspanMemResidency(runtime_->get(), p, call.chunks * kChunk, &named));
    EXPECT_EQ(named.device_bytes, call.chunks * kChunk);
    flag.Set(turn);
    runtime_->Synchronize();
    EXPECT_EQ(runtime_->OnDevice(b), 0u);
  }
  EXPECT_EQ(runtime_->stats().deadlines, 0u);
  EXPECT_CU(world_.api().MemFree(foreign));
  EXPECT_CU(world_.api().MemFree(same));
}

// Work of another context writes memory whose copy on the host is kept: that is the old one.
TEST_P(TracedCopies, OfAnotherContextAreKept) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0}));
  const auto move = [&](vramspanLocation to) {
    EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), buffers_[0].ptr, kChunk, to, stream_));
    runtime_->Synchronize();
  };
  move(VRAMSPAN_LOCATION_DEVICE);
  EXPECT_TRUE(OnDevice(0));
  CUctxCreateParams params{};
  CUcontext other = nullptr;
  ASSERT_CU(world_.api().CtxCreate(&other, &params, 0, 0));
  CUstream stream = nullptr;
  EXPECT_CU(world_.api().StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_CU(DRIVER(cuMemcpyPeerAsync)(buffers_[0].ptr, world_.context(), buffers_[1].ptr,
                                      world_.context(), kChunk, stream));
  Copied(0, 1);
  EXPECT_THAT(Tracing::Passers(world_.context()), Contains(other));
  EXPECT_CU(world_.api().CtxDestroy(other));
  EXPECT_THAT(Tracing::Passers(world_.context()), Not(Contains(other)));
  EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
  move(VRAMSPAN_LOCATION_HOST);
  EXPECT_EQ(DeviceBytes(0), 0u);
}

// One stream waits for what another writes, in memory that is on the host, while other memory
// moves.
TEST_P(TracedCopies, StreamsWaitForWordsInIt) {
  ASSERT_NO_FATAL_FAILURE(Start(10));
  const CUstream writes = NewStream();
  const auto set_first = [&](Word value, CUstream stream) {
    EXPECT_CU(DRIVER(cuStreamWriteValue64)(stream, buffers_[8].ptr, value, 0));
  };
  const Word right = HashWord(0, buffers_[8].seed);
  set_first(0, stream_);
  Wait(stream_);
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({8}));
  const vramspanStatistics before = runtime_->stats();
  {
    Pressure pressure(this, {0, 1, 2, 3, 4, 5});
    for (unsigned turn = 1; turn <= 10; ++turn) {
      EXPECT_CU(
          DRIVER(cuStreamWaitValue32)(stream_, buffers_[8].ptr, turn, CU_STREAM_WAIT_VALUE_GEQ));
      Add(9, 1, stream_);
      EXPECT_CU(DRIVER(cuStreamWriteValue32)(writes, buffers_[8].ptr, turn, 0));
      Wait(stream_);
    }
  }
  EXPECT_EQ(DeviceBytes(8), 0u);
  EXPECT_EQ(runtime_->stats().copies, before.copies + 20);
  set_first(right, stream_);
}

}  // namespace
}  // namespace vramspan_test
