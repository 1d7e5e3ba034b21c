// Addresses in parameters that no aligned slot of 8 bytes shows as they are.
#include <array>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

// A kernel that adds to two arrays, of which the second is named in another form.
struct Form {
  const char* name;
  // It says which memory it means, and likely means no other: what lies in front of an array does.
  bool told;
};
constexpr Form kForms[] = {{"packed", true}, {"from_one", false}, {"distance", true},
                           {"halves", true}, {"tagged", true},    {"page", true}};

class TracedEncoded : public TracedTest {
 protected:
  void Launch(const std::string& form, size_t first, size_t second, Word value, CUstream stream) {
    Submit(form, first, second, value, stream);
    if (form == "packed") buffers_[first].add += value;
    Added({first, second}, value);
  }
  // A graph of such launches, each of two buffers.
  CUgraphExec Captured(const std::vector<std::array<size_t, 2>>& pairs, size_t form = 0) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_CU(DRIVER(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (size_t i = 0; i < pairs.size(); ++i) {
      Submit(NthForm(form + i), pairs[i][0], pairs[i][1], 1, stream_);
    }
    EXPECT_CU(DRIVER(cuStreamEndCapture)(stream_, &graph));
    EXPECT_CU(DRIVER(cuGraphInstantiate)(&exec, graph, 0));
    EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
    return exec;
  }
  void LaunchGraph(CUgraphExec exec, const std::vector<std::array<size_t, 2>>& pairs, size_t form) {
    EXPECT_CU(DRIVER(cuGraphLaunch)(exec, stream_));
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (NthForm(form + i) == "packed") buffers_[pairs[i][0]].add += 1;
      Added({pairs[i][0], pairs[i][1]}, 1);
    }
  }
  static std::string NthForm(size_t n) { return kForms[n % std::size(kForms)].name; }
  bool overlaps() const { return std::string(GetParam()) != "off"; }

 private:
  void Submit(const std::string& form, size_t first, size_t second, Word value, CUstream stream) {
    Word *one = Words(first), *other = Words(second);
    size_t count = kChunkWords;
    const auto launch = [&](const char* kernel, auto&... parameters) {
      EXPECT_CU(world_.Launch(Traced(kernel), stream, Parameters(parameters...)));
    };
    const auto address = reinterpret_cast<size_t>(other);
    if (form == "packed") {
      // In a row of three, of which the last adds nothing that the first has not.
      PackedPointers arrays = {one, static_cast<unsigned>(count), other, {1, 2, 3}, one};
      launch("add_to_packed", arrays, value);
    } else if (form == "from_one") {
      --one, --other;
      launch("add_from_one", one, other, count, value);
    } else if (form == "distance") {
      long long apart = other - one;
      launch("add_at_distance", one, apart, count, value);
    } else if (form == "halves") {
      auto low = static_cast<unsigned>(address), high = static_cast<unsigned>(address >> 32);
      auto few = static_cast<unsigned>(count);
      launch("add_to_halves", one, low, few, high, value);
    } else if (form == "tagged") {
      size_t tagged = address | size_t{0x1234} << 48;
      launch("add_to_tagged", one, tagged, count, value);
    } else {
      size_t page = address >> 12;
      launch("add_to_page", one, page, count, value);
    }
  }
};
INSTANTIATE_TRACED(TracedEncoded);

// Evicted memory is unmapped but for work that may touch it: whoever is not seen to name it dies.
TEST_P(TracedEncoded, RightWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 24; ++round) {
    for (const Form& form : kForms) {
      const size_t one = 6 + round % 6, other = 6 + (round + 3) % 6;
      // Distances lead back.
      const bool turned = std::string(form.name) == "distance" && other > one;
      Launch(form.name, turned ? other : one, turned ? one : other, 1, stream_);
    }
    Wait(stream_);
  }
}

// A graph's nodes are searched when it is launched: those of one form each, and of all in one.
TEST_P(TracedEncoded, RightInGraphs) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  using Pairs = std::vector<std::array<size_t, 2>>;
  std::vector<std::pair<Pairs, size_t>> all = {
      {{{11, 6}, {10, 7}, {11, 8}, {8, 9}, {9, 6}, {6, 11}}, 0}};
  // Distances lead back.
  for (size_t form = 0; form < std::size(kForms); ++form)
    all.push_back({{{11, 6 + form % 5}}, form});
  std::vector<CUgraphExec> graphs;
  for (const auto& [pairs, form] : all) graphs.push_back(Captured(pairs, form));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  const uint64_t before = runtime_->stats().launches_encoded;
  for (size_t round = 0; round < 24; ++round) {
    for (size_t i = 0; i < all.size(); ++i) LaunchGraph(graphs[i], all[i].first, all[i].second);
    Wait(stream_);
  }
  EXPECT_EQ(runtime_->stats().launches_encoded - before, overlaps() ? 24 * all.size() : 0);
  for (const CUgraphExec exec : graphs) EXPECT_CU(DRIVER(cuGraphExecDestroy)(exec));
}

// What they may mean stays where it is, and all else may move beside them.
TEST_P(TracedEncoded, GraphsKeepNoMoreThanTheyMayMean) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_CU(DRIVER(cuFuncLoad)(Traced("add_to_packed")));
  EXPECT_CU(DRIVER(cuFuncLoad)(Traced("add_from_one")));
  // The second is in front of arrays, which no slot names.
  const CUgraphExec exec = Captured({{4, 1}, {4, 2}});
  ExpectStay({4, 1, 2}, [&](CUstream stream) {
    EXPECT_CU(DRIVER(cuGraphLaunch)(exec, stream));
    buffers_[4].add += 2;
    Added({4, 1, 2}, 1);
  });
  EXPECT_CU(DRIVER(cuGraphExecDestroy)(exec));
}

// Nothing is fetched for them, and where they are known they stay where they are.
TEST_P(TracedEncoded, WhatTheyMayMeanStays) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (const char* kernel :
       {"add_to_packed", "add_at_distance", "add_to_halves", "add_to_tagged", "add_to_page"}) {
    EXPECT_CU(DRIVER(cuFuncLoad)(Traced(kernel)));
  }
  for (const Form& form : kForms) {
    if (!form.told) continue;
    SCOPED_TRACE(form.name);
    ExpectStay({4, 1}, [&](CUstream stream) { Launch(form.name, 4, 1, 3, stream); });
  }
}

// Launches that have all but one byte of their parameters in common mean other memory.
TEST_P(TracedEncoded, EveryByteCounts) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  for (size_t round = 0; round < 20; ++round) {
    for (size_t second = 6; second < 11; ++second) Launch("distance", 11, second, 1, stream_);
    for (size_t second = 7; second < 12; ++second) Launch("page", 6, second, 1, stream_);
  }
  Wait(stream_);
}

// What the statistics say of it; ordinary launches are not among them.
TEST_P(TracedEncoded, AreCounted) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const uint64_t before = runtime_->stats().launches_encoded;
  for (int i = 0; i < 3; ++i) Add(2, 1, stream_);
  EXPECT_EQ(runtime_->stats().launches_encoded, before);
  for (const Form& form : kForms) Launch(form.name, 4, 1, 1, stream_);
  Wait(stream_);
  EXPECT_EQ(runtime_->stats().launches_encoded - before, overlaps() ? std::size(kForms) : 0);
}

}  // namespace
}  // namespace vramspan_test
