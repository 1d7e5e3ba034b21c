// Copies and fills that span handles and cross from device to host chunks and back. The synchronous
// calls may return before the device has done all of its part, so other streams wait for the
// context.
#include <cstring>
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;

class Copies : public Conformance {
 protected:
  Copies() : chunks_({Where::kDevice, Where::kHostNuma, Where::kDevice, Where::kHostNuma}) {}

  // Every byte.
  std::vector<unsigned char> Contents() {
    std::vector<unsigned char> bytes(chunks_.bytes());
    Must(world_.MemcpyDtoH(bytes.data(), chunks_.at(0), bytes.size()), "cuMemcpyDtoH");
    return bytes;
  }

  const Chunks chunks_;
};

TEST_F(Copies, FromAndToPageableMemory) {
  const std::vector<Word> words = HashWords(chunks_.bytes(), 1);
  CU_OK(world_.MemcpyHtoD(chunks_.at(0), words.data(), chunks_.bytes()));
  CU_OK(cu_.CtxSynchronize());
  EXPECT_TRUE(KernelSeesHash(chunks_.at(0), chunks_.bytes(), 1));
  std::vector<Word> back(words.size());
  CU_OK(world_.MemcpyDtoH(back.data(), chunks_.at(0), chunks_.bytes()));
  EXPECT_EQ(back, words);
}

TEST_F(Copies, FromAndToPinnedMemory) {
  const Pinned pinned(chunks_.bytes());
  const std::vector<Word> words = HashWords(chunks_.bytes(), 2);
  memcpy(pinned.as<void>(), words.data(), chunks_.bytes());
  CU_OK(world_.MemcpyHtoD(chunks_.at(0), pinned.as<void>(), chunks_.bytes()));
  CU_OK(cu_.CtxSynchronize());
  EXPECT_TRUE(KernelSeesHash(chunks_.at(0), chunks_.bytes(), 2));
  memset(pinned.as<void>(), 0, chunks_.bytes());
  CU_OK(world_.MemcpyDtoH(pinned.as<void>(), chunks_.at(0), chunks_.bytes()));
  EXPECT_EQ(memcmp(pinned.as<void>(), words.data(), chunks_.bytes()), 0);
}

TEST_F(Copies, AsyncBothWays) {
  const Stream stream;
  const Pinned pinned(chunks_.bytes());
  const std::vector<Word> words = HashWords(chunks_.bytes(), 3);
  memcpy(pinned.as<void>(), words.data(), chunks_.bytes());
  CU_OK(cu_.MemcpyHtoDAsync(chunks_.at(0), pinned.as<void>(), chunks_.bytes(), stream.get()));
  CU_OK(cu_.StreamSynchronize(stream.get()));
  memset(pinned.as<void>(), 0, chunks_.bytes());
  CU_OK(cu_.MemcpyDtoHAsync(pinned.as<void>(), chunks_.at(0), chunks_.bytes(), stream.get()));
  CU_OK(cu_.StreamSynchronize(stream.get()));
  EXPECT_EQ(memcmp(pinned.as<void>(), words.data(), chunks_.bytes()), 0);
}

// From device and host to device and host, across a border on each side.
TEST_F(Copies, DeviceToDevice) {
  const Chunks to({Where::kHostNuma, Where::kDevice, Where::kHostNuma, Where::kDevice});
  const size_t from = kChunk / 2;
  const size_t bytes = 3 * kChunk;
  FillHash(chunks_.at(0) + from, bytes, 4);
  CU_OK(world_.MemcpyDtoD(to.at(0) + from / 2, chunks_.at(0) + from, bytes));
  CU_OK(cu_.CtxSynchronize());
  EXPECT_TRUE(KernelSeesHash(to.at(0) + from / 2, bytes, 4));
  const Stream stream;
  FillHash(chunks_.at(0) + from, bytes, 5);
  CU_OK(cu_.MemcpyDtoDAsync(to.at(0) + from, chunks_.at(0) + from, bytes, stream.get()));
  CU_OK(cu_.StreamSynchronize(stream.get()));
  EXPECT_TRUE(KernelSeesHash(to.at(0) + from, bytes, 5));
}

TEST_F(Copies, OfTheKindThatThePointersSay) {
  const Chunks to({Where::kHostNuma, Where::kDevice, Where::kHostNuma, Where::kDevice});
  FillHash(chunks_.at(0), chunks_.bytes(), 6);
  CU_OK(world_.Memcpy(to.at(0), chunks_.at(0), chunks_.bytes()));
  CU_OK(cu_.CtxSynchronize());
  EXPECT_TRUE(KernelSeesHash(to.at(0), chunks_.bytes(), 6));
  const Stream stream;
  FillHash(chunks_.at(0), chunks_.bytes(), 7);
  CU_OK(cu_.MemcpyAsync(to.at(0), chunks_.at(0), chunks_.bytes(), stream.get()));
  CU_OK(cu_.StreamSynchronize(stream.get()));
  EXPECT_TRUE(KernelSeesHash(to.at(0), chunks_.bytes(), 7));
}

// A program that believes it holds device memory names the direction.
TEST_F(Copies, HostChunkAsDeviceMemory) {
  const std::vector<Word> words = HashWords(kChunk, 8);
  CU_OK(world_.MemcpyHtoD(chunks_.at(1), words.data(), kChunk));
  std::vector<Word> back(words.size());
  CU_OK(world_.MemcpyDtoH(back.data(), chunks_.at(1), kChunk));
  EXPECT_EQ(back, words);
}

TEST_F(Copies, LinearFills) {
  CU_OK(world_.MemsetD8(chunks_.at(0), 0xa5, chunks_.bytes()));
  EXPECT_EQ(Contents(), std::vector<unsigned char>(chunks_.bytes(), 0xa5));
  CU_OK(world_.MemsetD32(chunks_.at(0), 0x5a5a5a5a, chunks_.bytes() / 4));
  EXPECT_EQ(Contents(), std::vector<unsigned char>(chunks_.bytes(), 0x5a));
  const Stream stream;
  CU_OK(cu_.MemsetD8Async(chunks_.at(0), 0x11, chunks_.bytes(), stream.get()));
  CU_OK(cu_.StreamSynchronize(stream.get()));
  EXPECT_EQ(Contents(), std::vector<unsigned char>(chunks_.bytes(), 0x11));
}

TEST_F(Copies, TwoDimensionalFills) {
  constexpr size_t kPitch = 4096;
  constexpr size_t kWidth = 1000;
  CU_OK(world_.MemsetD8(chunks_.at(0), 1, chunks_.bytes()));
  CU_OK(world_.MemsetD2D8(chunks_.at(0), kPitch, 2, kWidth, chunks_.bytes() / kPitch));
  const std::vector<unsigned char> contents = Contents();
  size_t wrong = 0;
  for (size_t i = 0; i < contents.size(); ++i) {
    wrong += contents[i] != (i % kPitch < kWidth ? 2 : 1) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u);
}

// What a copy or fill names is looked up when it is submitted. Kernels and graph launches are not
// asked (held_test, graph_test).
class SubmittedCopies : public Conformance {
 protected:
  SubmittedCopies() : span_(3), device_(Where::kDevice), bare_(Where::kDevice), pinned_(kBytes) {
    span_.Map(0, device_);
    span_.MapOnly(1, bare_);
  }

  void ExpectRefused(CUdeviceptr at) {
    const CUdeviceptr good = span_.at(0);
    void* const host = pinned_.as<void>();
    const CUstream s = stream_.get();
    EXPECT_EQ(cu_.MemsetD8Async(at, 1, kBytes, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu_.MemcpyHtoDAsync(at, host, kBytes, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu_.MemcpyDtoHAsync(host, at, kBytes, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu_.MemcpyDtoDAsync(at, good, kBytes, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu_.MemcpyDtoDAsync(good, at, kBytes, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(world_.MemcpyDtoH(host, at, kBytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu_.StreamSynchronize(s), CUDA_SUCCESS);
  }

  static constexpr size_t kBytes = 4096;
  Span span_;
  const Handle device_, bare_;
  const Pinned pinned_;
  const Stream stream_;
};

TEST_F(SubmittedCopies, OfUnmappedMemoryAreRefused) { ExpectRefused(span_.at(2)); }

TEST_F(SubmittedCopies, OfMemoryMappedWithoutAccessAreRefused) { ExpectRefused(span_.at(1)); }

TEST_F(SubmittedCopies, OfAStretchThatEndsUnmappedAreRefused) {
  ExpectRefused(span_.at(1) - kBytes / 2);
}

TEST_F(SubmittedCopies, OfAGraphAreNotLookedUpAgainWhenItIsInstantiated) {
  span_.Access(1);
  CUgraph graph = nullptr;
  CU_OK(world_.StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(cu_.MemcpyDtoDAsync(span_.at(1), span_.at(0), kBytes, stream_.get()));
  CU_OK(world_.StreamEndCapture(stream_.get(), &graph));
  span_.Unmap(1);
  CUgraphExec exec = nullptr;
  CU_OK(world_.GraphInstantiate(&exec, graph, 0));
  CU_OK(world_.GraphExecDestroy(exec));
  CU_OK(world_.GraphDestroy(graph));
}

TEST_F(SubmittedCopies, FillsOfAGraphAreLookedUpWhenItIsInstantiated) {
  span_.Access(1);
  CUgraph graph = nullptr;
  CU_OK(world_.StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(cu_.MemsetD8Async(span_.at(1), 1, kBytes, stream_.get()));
  CU_OK(world_.StreamEndCapture(stream_.get(), &graph));
  span_.Unmap(1);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(world_.GraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  span_.Map(1, bare_);
  CU_OK(world_.GraphInstantiate(&exec, graph, 0));
  CU_OK(world_.GraphExecDestroy(exec));
  CU_OK(world_.GraphDestroy(graph));
}

TEST_F(SubmittedCopies, AreRefusedBehindAHoldToo) {
  span_.Unmap(1);
  Gate gate;
  gate.Park(stream_.get());
  EXPECT_EQ(cu_.MemsetD8Async(span_.at(1), 1, kBytes, stream_.get()), CUDA_ERROR_INVALID_VALUE);
  gate.OpenAll();
  CU_OK(cu_.StreamSynchronize(stream_.get()));
}

}  // namespace
}  // namespace vramspan::conformance
