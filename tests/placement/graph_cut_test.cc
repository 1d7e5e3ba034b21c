#include "runtime/placement/graph_cut.h"

#include <gmock/gmock.h>

#include <numeric>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Nodes of so many pieces each, none of them another's.
std::vector<NodePieces> Nodes(std::initializer_list<size_t> counts) {
  std::vector<NodePieces> nodes;
  uint64_t next = 0;
  for (const size_t count : counts) {
    NodePieces pieces(count);
    std::iota(pieces.begin(), pieces.end(), next);
    next += count;
    nodes.push_back(std::move(pieces));
  }
  return nodes;
}

TEST(CutGraph, AHalfOfTheBudgetStaysWhole) {
  EXPECT_THAT(CutGraph(Nodes({4, 4}), MiB(2), MiB(32)), ElementsAre(2));
  EXPECT_THAT(CutGraph(Nodes({4, 5}), MiB(2), MiB(32)), ElementsAre(1, 2));
}

TEST(CutGraph, ASmallBudgetHasSegmentsOfAQuarter) {
  EXPECT_THAT(CutGraph(Nodes({1, 1, 1, 1, 1, 1}), MiB(2), MiB(16)), ElementsAre(2, 4, 6));
}

TEST(CutGraph, NoSegmentIsLessThanTheLinkTakesAMillisecondFor) {
  const auto nodes = Nodes({16, 16, 16, 16, 16, 16, 16, 16});
  EXPECT_THAT(CutGraph(nodes, MiB(2), MiB(256)), ElementsAre(2, 4, 6, 8));
}

TEST(CutGraph, ALargeBudgetHasManySegments) {
  std::vector<NodePieces> nodes;
  for (uint64_t i = 0; i < 128; ++i) nodes.push_back({i});
  // 64 GiB of 1 GiB pieces are 64; a segment has 2.
  EXPECT_EQ(CutGraph(nodes, MiB(1024), MiB(64 << 10)).size(), 64u);
}

TEST(CutGraph, WhatNeedsNothingMoreGoesAlong) {
  std::vector<NodePieces> nodes = Nodes({8, 8, 8});
  nodes.insert(nodes.begin() + 1, {nodes[0], {}, nodes[0]});
  EXPECT_THAT(CutGraph(nodes, MiB(2), MiB(16)), ElementsAre(4, 5, 6));
}

TEST(CutGraph, ANodeThatIsLargerHasASegmentOfItsOwn) {
  EXPECT_THAT(CutGraph(Nodes({1, 12, 1, 1}), MiB(2), MiB(16)), ElementsAre(1, 2, 4));
}

TEST(CutGraph, OfNothing) {
  EXPECT_THAT(CutGraph({}, MiB(2), MiB(16)), ElementsAre(0));
  EXPECT_THAT(CutGraph(std::vector<NodePieces>(3), MiB(2), MiB(16)), ElementsAre(3));
}

TEST(OrderOfNodes, IsTheirOwnWhereTheyMay) {
  EXPECT_THAT(OrderOfNodes(4, {}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(OrderOfNodes(4, {{0, 1}, {0, 3}, {3, 2}}), ElementsAre(0, 1, 3, 2));
  EXPECT_THAT(OrderOfNodes(4, {{3, 0}}), ElementsAre(1, 2, 3, 0));
}

TEST(OrderOfNodes, IsNoneWhereTheyWaitForEachOther) {
  EXPECT_THAT(OrderOfNodes(3, {{0, 1}, {1, 2}, {2, 1}}), IsEmpty());
  EXPECT_THAT(OrderOfNodes(2, {{0, 2}}), IsEmpty());
}

}  // namespace
}  // namespace vramspan
