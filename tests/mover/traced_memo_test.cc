// Launches that come again with the same parameters are told by what they named before, until any
// of that may have changed.
#include <optional>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedMemo : public TracedTest {
 protected:
  uint64_t known() const { return runtime_->stats().launches_known; }
  // Launches until it is told by what it named before.
  void Learn(const std::function<void()>& launch) {
    const uint64_t before = known();
    for (int i = 0; i < 8 && known() == before; ++i) {
      launch();
      Wait(stream_);
    }
    EXPECT_GT(known(), before) << "what is tested is not used";
  }
  void ExpectKnown(const std::function<void()>& launch) {
    const uint64_t before = known();
    launch();
    EXPECT_EQ(known(), before + 1);
  }
  void ExpectUnknown(const std::function<void()>& launch) {
    const uint64_t before = known();
    launch();
    EXPECT_EQ(known(), before);
  }
  void Free(size_t i) {
    runtime_->Synchronize();
    EXPECT_SPAN(vramspanMemFree(runtime_->get(), buffers_[i].ptr));
    buffers_[i].ptr = 0;
    runtime_->Synchronize();
  }
  // A new buffer where another was, of its size; none where nothing comes there.
  std::optional<size_t> NewAt(CUdeviceptr address, size_t bytes) {
    std::vector<Buffer> others;
    std::optional<size_t> found;
    for (int tries = 0; !found && tries < 64; ++tries) {
      const Buffer b = runtime_->Alloc(bytes);
      if (b.ptr != address) {
        others.push_back(b);
        continue;
      }
      found = buffers_.size();
      Buffer& made = buffers_.emplace_back(b);
      made.seed = buffers_.size();
      EXPECT_CU(world_.LaunchFill(made, stream_));
      Wait(stream_);
    }
    for (Buffer& b : others) runtime_->Free(b);
    return found;
  }
};
INSTANTIATE_TRACED(TracedMemo);

TEST_P(TracedMemo, NotWhileMemorySuffices) {
  ASSERT_NO_FATAL_FAILURE(Start(2));
  for (int i = 0; i < 8; ++i) Add(0, 1, stream_);
  EXPECT_EQ(known(), 0u);
}

TEST_P(TracedMemo, EveryByteOfAParameter) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Learn([&] { Add(1, 1, stream_); });
  for (int byte = 0; byte < 8; ++byte) {
    ExpectUnknown([&] { Add(1, Word{1} + (Word{1} << (8 * byte)), stream_); });
    ExpectKnown([&] { Add(1, 1, stream_); });
  }
  // Two buffers differ in some bytes of their addresses.
  ExpectFetched({2}, [&] { Add(2, 1, stream_); });
}

TEST_P(TracedMemo, WhatHasMovedIsFetched) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Learn([&] { Add(1, 1, stream_); });
  ExpectFetched({1}, [&] { ExpectKnown([&] { Add(1, 1, stream_); }); });
}

TEST_P(TracedMemo, InAnotherStreamItStaysForThat) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Learn([&] { Add(1, 1, stream_); });
  ExpectStay({1}, [&](CUstream stream) { ExpectKnown([&] { Add(1, 1, stream); }); });
}

TEST_P(TracedMemo, NotOfMemoryThatWasFreed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  const size_t old = buffers_.size() - 1;
  Learn([&] { Add(old, 1, stream_); });
  const CUdeviceptr address = buffers_[old].ptr;
  Free(old);
  const std::optional<size_t> again = NewAt(address, 2 * kChunk);
  ASSERT_TRUE(again.has_value()) << "the address does not come again";
  ExpectFetched({*again}, [&] { ExpectUnknown([&] { Add(*again, 1, stream_); }); });
}

// For which nothing is told when it comes and goes.
TEST_P(TracedMemo, NotOfAPackedObjectThatWasFreed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(4096);
  const size_t old = buffers_.size() - 1;
  Learn([&] { Add(old, 1, stream_); });
  const CUdeviceptr address = buffers_[old].ptr;
  Free(old);
  const std::optional<size_t> again = NewAt(address, 4096);
  ASSERT_TRUE(again.has_value()) << "the address does not come again";
  ExpectUnknown([&] { Add(*again, 1, stream_); });
}

TEST_P(TracedMemo, NotWhereAPackedObjectMayCome) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(4096);
  NewBuffer(4096);  // Keeps the chunk.
  Buffer gone = buffers_[buffers_.size() - 2];
  Free(buffers_.size() - 2);
  // With no words it goes nowhere.
  gone.words = 0;
  for (int i = 0; i < 8; ++i) {
    ExpectUnknown([&] { EXPECT_CU(world_.LaunchAdd(gone, 1, stream_)); });
  }
}

TEST_P(TracedMemo, NotAfterABoundaryWasLearnt) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  const size_t large = buffers_.size() - 1;
  Buffer first = buffers_[large], second = buffers_[large];
  first.words = second.words = kChunkWords;
  second.ptr += kChunk;
  const auto launch = [&] { EXPECT_CU(world_.LaunchAdd(first, 0, stream_)); };
  Learn(launch);
  EXPECT_CU(world_.LaunchAdd(second, 0, stream_));
  ExpectUnknown(launch);
}

TEST_P(TracedMemo, WhatItNamesNowIsFetched) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  const size_t large = buffers_.size() - 1;
  Buffer first = buffers_[large], second = buffers_[large];
  first.words = second.words = kChunkWords;
  second.ptr += kChunk;
  const auto launch = [&] { EXPECT_CU(world_.LaunchAdd(first, 0, stream_)); };
  Learn(launch);
  EXPECT_CU(world_.LaunchAdd(second, 0, stream_));
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({large}));
  ExpectUnknown(launch);
  runtime_->Synchronize();
  EXPECT_EQ(runtime_->OnDevice(first), kChunk);
  EXPECT_EQ(runtime_->OnDevice(second), 0u);
}

// More kinds of launches go from a pointer than are remembered of it: what each names is inferred
// each time, and the rest is known.
TEST_P(TracedMemo, WhatIsInferredEachTimeIsFetched) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  const size_t large = buffers_.size() - 1;
  Buffer first = buffers_[large], second = buffers_[large];
  first.words = second.words = kChunkWords;
  second.ptr += kChunk;
  const auto launch = [&](unsigned kind) {
    EXPECT_CU(world_.LaunchAdd(first, 0, stream_, /*blocks=*/kind + 1));
  };
  for (int round = 0; round < 8; ++round) {
    EXPECT_CU(world_.LaunchAdd(second, 0, stream_));
    for (unsigned kind = 0; kind < 12; ++kind) launch(kind);
    Wait(stream_);
  }
  const uint64_t before = known();
  for (unsigned kind = 0; kind < 12; ++kind) {
    ASSERT_NO_FATAL_FAILURE(PlaceOnHost({large}));
    const uint64_t fetches = runtime_->stats().fetches;
    launch(kind);
    runtime_->Synchronize();
    EXPECT_GT(runtime_->stats().fetches, fetches) << kind;
  }
  const std::string overlap = GetParam();
  if (overlap == "safe" || overlap == "all") {
    EXPECT_LT(known() - before, 12u) << "what is tested is not used";
  }
}

// Of such, one byte decides whether another address is among the numbers.
TEST_P(TracedMemo, OneByteOfAnAddressInAnotherForm) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  Word* one = Words(buffers_.size() - 1);
  size_t count = 0;  // It goes nowhere.
  const size_t page = buffers_[2].ptr >> 12, other = page ^ (page >> 32 << 32);
  const std::string overlap = GetParam();
  const uint64_t looks = overlap == "safe" || overlap == "all" ? 1 : 0;
  Word value = 0;
  const auto encoded = [&](size_t where, unsigned kind) {
    const uint64_t before = runtime_->stats().launches_encoded;
    EXPECT_CU(world_.Launch(Traced("add_to_page"), stream_, Parameters(one, where, count, value),
                            /*blocks=*/kind + 1));
    return runtime_->stats().launches_encoded - before;
  };
  Buffer second = buffers_.back();
  second.ptr += kChunk;
  second.words = kChunkWords;
  for (int round = 0; round < 8; ++round) {
    EXPECT_CU(world_.LaunchAdd(second, 0, stream_));
    for (unsigned kind = 0; kind < 12; ++kind) {
      EXPECT_GE(encoded(page, kind), looks) << round << " " << kind;
      EXPECT_EQ(encoded(other, kind), 0) << round << " " << kind;
    }
    Wait(stream_);
  }
}

TEST_P(TracedMemo, NoGraph) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_CU(DRIVER(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CU(world_.LaunchAdd(buffers_[1], 0, stream_));
  CUgraph graph = nullptr;
  EXPECT_CU(DRIVER(cuStreamEndCapture)(stream_, &graph));
  CUgraphExec exec = nullptr;
  EXPECT_CU(DRIVER(cuGraphInstantiate)(&exec, graph, 0));
  for (int i = 0; i < 8; ++i)
    ExpectUnknown([&] { EXPECT_CU(DRIVER(cuGraphLaunch)(exec, stream_)); });
  Wait(stream_);
  EXPECT_CU(DRIVER(cuGraphExecDestroy)(exec));
  EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
}

TEST_P(TracedMemo, NotOfAnotherRuntime) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Learn([&] { Add(1, 1, stream_); });
  const CUdeviceptr address = buffers_[1].ptr;
  runtime_->Synchronize();
  EXPECT_SPAN(runtime_->Destroy());
  buffers_.clear();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(known(), 0u);
  size_t same = 0;
  while (same < buffers_.size() && buffers_[same].ptr != address) ++same;
  ASSERT_LT(same, buffers_.size()) << "the address does not come again";
  ExpectFetched({same}, [&] { ExpectUnknown([&] { Add(same, 1, stream_); }); });
}

// A number means memory once some lives there.
TEST_P(TracedMemo, NotAfterMemoryCameThatANumberMayMean) {
  ASSERT_NO_FATAL_FAILURE(Start());
  NewBuffer(2 * kChunk);
  const CUdeviceptr address = buffers_.back().ptr;
  Free(buffers_.size() - 1);
  Word* one = Words(1);
  size_t page = address >> 12, count = 0;
  Word value = 0;
  // With no words it goes nowhere.
  const auto launch = [&] {
    EXPECT_CU(world_.Launch(Traced("add_to_page"), stream_, Parameters(one, page, count, value)));
  };
  Learn(launch);
  const std::optional<size_t> there = NewAt(address, 2 * kChunk);
  ASSERT_TRUE(there.has_value()) << "the address does not come again";
  ExpectUnknown(launch);
}

TEST_P(TracedMemo, NotAfterATableChanged) {
  ASSERT_NO_FATAL_FAILURE(Start());
  CUdeviceptr table = 0;
  EXPECT_SPAN(vramspanMemAlloc(runtime_->get(), &table, kChunk));
  EXPECT_CU(world_.api().MemsetD8Async(table, 0, kChunk, stream_));
  Wait(stream_);
  size_t arrays = 1, count = kChunkWords;
  Word value = 1;
  const auto show = [&](size_t i) {
    // Such a copy may return before it is done, and the stream does not wait for others.
    EXPECT_CU(DRIVER(cuMemcpyHtoDAsync)(table, &buffers_[i].ptr, sizeof(CUdeviceptr), stream_));
  };
  const auto launch = [&](size_t i) {
    EXPECT_CU(world_.Launch(world_.Kernel("add_to_table"), stream_,
                            Parameters(table, arrays, count, value)));
    Added({i}, 1);
  };
  show(1);
  Learn([&] { launch(1); });
  show(1);
  ExpectKnown([&] { launch(1); });
  Wait(stream_);
  show(2);
  ExpectFetched({2}, [&] { ExpectUnknown([&] { launch(2); }); });
}

// Many threads launch the same again while memory moves, comes and goes.
TEST_P(TracedMemo, InManyThreads) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  std::vector<std::thread> threads;
  for (size_t t = 6; t < 10; ++t) {
    const CUstream stream = NewStream();
    threads.emplace_back([this, t, stream] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      for (int i = 0; i < 200; ++i) {
        Add(t, 1, stream);
        if (i % 50 == 0) {
          CUdeviceptr p = 0;
          EXPECT_SPAN(vramspanMemAlloc(runtime_->get(), &p, kChunk));
          EXPECT_SPAN(vramspanMemFree(runtime_->get(), p));
        }
        if (i % 20 == 0) Wait(stream);
      }
      Wait(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(known(), 100u);
}

}  // namespace
}  // namespace vramspan_test
