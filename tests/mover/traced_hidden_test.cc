// Pointers that no parameter shows: in tables that were copied to the device, in a module's
// variables, and in what a kernel wrote, which nobody sees.
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedHidden : public TracedTest {
 protected:
  // add_to_table(table, arrays, kChunkWords, value).
  void LaunchTable(CUdeviceptr table, size_t arrays, Word value, CUstream stream) {
    size_t count = kChunkWords;
    EXPECT_CU(world_.Launch(world_.Kernel("add_to_table"), stream,
                            Parameters(table, arrays, count, value)));
  }
  void LaunchHidden(size_t arrays, Word value, CUstream stream) {
    size_t count = kChunkWords;
    EXPECT_CU(world_.Launch(Traced("add_to_hidden"), stream, Parameters(arrays, count, value)));
  }
  std::vector<CUdeviceptr> TableOf(const Indices& which) const {
    std::vector<CUdeviceptr> table;
    for (const size_t i : which) table.push_back(buffers_[i].ptr);
    return table;
  }
  void CopyTable(CUdeviceptr to, const Indices& which) {
    const std::vector<CUdeviceptr> table = TableOf(which);
    EXPECT_CU(DRIVER(cuMemcpyHtoD)(to, table.data(), table.size() * sizeof(table[0])));
  }
  CUdeviceptr Global(const char* name) {
    CUdeviceptr address = 0;
    size_t size = 0;
    EXPECT_CU(DRIVER(cuModuleGetGlobal)(&address, &size, module(), name));
    return address;
  }
  // Memory of the runtime whose contents are nobody's business: a chunk, so that it moves.
  CUdeviceptr Scratch() {
    CUdeviceptr p = 0;
    EXPECT_SPAN(vramspanMemAlloc(runtime_->get(), &p, kChunk));
    EXPECT_CU(world_.api().MemsetD8Async(p, 0, kChunk, stream_));
    Wait(stream_);
    return p;
  }
};
INSTANTIATE_TRACED(TracedHidden);

TEST_P(TracedHidden, TableThatWasCopied) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUdeviceptr table = Scratch();
  CopyTable(table, {1, 4, 6});
  ExpectFetched({1, 4, 6}, [&] { LaunchTable(table, 3, 5, stream_); });
  Added({1, 4, 6}, 5);
  // What is copied over it counts from then on.
  CopyTable(table, {0, 2, 3});
  const uint64_t touches = runtime_->stats().touches;
  ExpectFetched({0, 2, 3}, [&] { LaunchTable(table, 3, 6, stream_); });
  Added({0, 2, 3}, 6);
  EXPECT_EQ(runtime_->stats().touches, touches + 4);
}

// Before memory ran short, when nothing else is looked at.
TEST_P(TracedHidden, TableFromBeforeMemoryRanShort) {
  ASSERT_NO_FATAL_FAILURE(Start(1));
  const CUdeviceptr table = Scratch();
  CopyTable(table, {0});
  for (size_t i = 1; i < 2 * kBudget; ++i) NewBuffer();
  ExpectFetched({0}, [&] { LaunchTable(table, 1, 5, stream_); });
  Added({0}, 5);
}

// A variable of a module leads any kernel to its memory, and hardly any goes there: nothing is
// fetched for that. With `safe` it stays where it is while any kernel runs; see docs/overlap.md for
// `all`.
TEST_P(TracedHidden, VariableOfAModule) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUdeviceptr hidden = Global("hidden_words");
  CopyTable(hidden, {2, 5});
  Wait(nullptr);
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({2, 5}));
  const vramspanStatistics before = runtime_->stats();
  LaunchHidden(2, 7, stream_);
  Added({2, 5}, 7);
  runtime_->Synchronize();
  Wait(stream_);
  EXPECT_EQ(DeviceBytes(2) + DeviceBytes(5), 0u);
  EXPECT_EQ(runtime_->stats().fetches, before.fetches);
  EXPECT_EQ(runtime_->stats().touches, before.touches + 2);
  if (std::string(GetParam()) == "all") return;

  ExpectStay({2, 5}, [&](CUstream stream) { LaunchHidden(2, 7, stream); });
  Added({2, 5}, 7);
}

// A table of tables: the kernel goes to the inner one, and others might go on from there.
TEST_P(TracedHidden, SeveralLevels) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUdeviceptr outer = Scratch(), inner = Scratch();
  CopyTable(inner, {3, 6});
  EXPECT_CU(DRIVER(cuMemcpyHtoD)(outer, &inner, sizeof(inner)));
  Wait(nullptr);
  ExpectFetched({3, 6}, [&] { LaunchTable(outer, 1, 0, stream_); });
}

// Chunks that only a table leads to stay where they are while work that may use them has not run.
TEST_P(TracedHidden, TargetsStayWhileTheyMayBeUsed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUdeviceptr table = Scratch();
  CopyTable(table, {0, 1});
  Wait(nullptr);
  EXPECT_CU(DRIVER(cuFuncLoad)(world_.Kernel("add_to_table")));
  ExpectStay({0, 1}, [&](CUstream stream) { LaunchTable(table, 2, 3, stream); });
  Added({0, 1}, 3);
}

// Many launches through tables and variables while everything moves: a target that is unmapped
// under a kernel kills the context.
TEST_P(TracedHidden, RightWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  const CUdeviceptr table = Scratch(), hidden = Global("hidden_words");
  const CUstream other = NewStream();
  const bool variables = std::string(GetParam()) != "all";
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 40; ++round) {
    const Indices in_table = {6 + round % 3, 6 + (round + 1) % 3};
    const Indices in_module = {9 + round % 3};
    CopyTable(table, in_table);
    CopyTable(hidden, in_module);
    Wait(nullptr);
    for (int k = 0; k < 3; ++k) {
      LaunchTable(table, 2, 1, stream_);
      Added(in_table, 1);
      if (!variables) continue;
      LaunchHidden(1, 1, other);
      Added(in_module, 1);
    }
    Wait(stream_);
    Wait(other);
  }
}

// Only `off` promises anything of what nobody saw.
class TracedUnseen : public TracedHidden {};
INSTANTIATE_TEST_SUITE_P(Overlap, TracedUnseen, testing::Values("off"),
                         [](const auto& each) { return std::string(each.param); });

// `off` needs to know nothing: no memory moves while a kernel runs.
TEST_P(TracedUnseen, TableThatAKernelWrote) {
  ASSERT_NO_FATAL_FAILURE(Start(10));
  const CUdeviceptr table = Scratch();
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 60; ++round) {
    for (size_t at = 0; at < 2; ++at) {
      const size_t i = 6 + (round + at) % 4;
      CUdeviceptr words = table;
      Word masked = buffers_[i].ptr ^ kPointerMask;
      EXPECT_CU(world_.Launch(Traced("store_pointer"), stream_, Parameters(words, at, masked)));
      Added({i}, 1);
    }
    LaunchTable(table, 2, 1, stream_);
  }
  Wait(stream_);
}

}  // namespace
}  // namespace vramspan_test
