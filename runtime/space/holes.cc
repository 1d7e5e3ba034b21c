#include "runtime/space/holes.h"

#include <algorithm>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

constexpr DevicePtr AlignUp(DevicePtr p, Bytes alignment) {
  return DevicePtr(RoundUp(Bytes(p.value), alignment).value);
}

// How many holes that are large enough but badly aligned are looked at before a place is taken that
// is roomy enough for any alignment. Arbitrary: enough that an ordinary mix stays dense.
constexpr int kUnalignedTries = 32;

}  // namespace

Holes::Holes() : nodes_(1) {}

std::optional<DevicePtr> Holes::Take(Bytes size, Bytes alignment) {
  if (size > largest()) return std::nullopt;
  DevicePtr from;
  for (int tries = 0;; ++tries) {
    if (tries == kUnalignedTries) {
      const Index roomy = FirstFit(root_, from, size + alignment - Bytes(1));
      if (roomy != 0) {
        const DevicePtr p = AlignUp(nodes_[roomy].start, alignment);
        Carve(roomy, p, size);
        return p;
      }
    }
    const Index hole = FirstFit(root_, from, size);
    if (hole == 0) return std::nullopt;
    const DevicePtr p = AlignUp(nodes_[hole].start, alignment);
    if (p + size <= EndOf(hole)) {
      Carve(hole, p, size);
      return p;
    }
    from = EndOf(hole);
  }
}

void Holes::Carve(Index hole, DevicePtr p, Bytes size) {
  const DevicePtr start = nodes_[hole].start;
  const Bytes head = p - start;
  const Bytes tail = EndOf(hole) - (p + size);
  if (head.value != 0) {
    Resize(root_, start, start, head);
    if (tail.value != 0) Insert(p + size, tail);
  } else if (tail.value != 0) {
    Resize(root_, start, p + size, tail);
  } else {
    Erase(start);
  }
  total_ -= size;
}

void Holes::Give(DevicePtr p, Bytes size) {
  const Index before = LastBefore(p + Bytes(1));
  const Index after = FirstFit(root_, p, Bytes(0));
  VS_CHECK(size.value != 0);
  VS_CHECK(before == 0 || EndOf(before) <= p);
  VS_CHECK(after == 0 || p + size <= nodes_[after].start);
  const bool joins_before = before != 0 && EndOf(before) == p;
  const bool joins_after = after != 0 && nodes_[after].start == p + size;
  total_ += size;
  if (joins_before) {
    const DevicePtr start = nodes_[before].start;
    Bytes grown = nodes_[before].size + size;
    if (joins_after) {
      grown += nodes_[after].size;
      Erase(nodes_[after].start);
    }
    Resize(root_, start, start, grown);
  } else if (joins_after) {
    const DevicePtr start = nodes_[after].start;
    Resize(root_, start, p, nodes_[after].size + size);
  } else {
    Insert(p, size);
  }
}

Holes::Index Holes::FirstFit(Index tree, DevicePtr from, Bytes size) const {
  if (tree == 0 || nodes_[tree].largest < size) return 0;
  const Node& node = nodes_[tree];
  if (node.start >= from) {
    if (const Index lower = FirstFit(node.left, from, size); lower != 0) return lower;
    if (node.size >= size) return tree;
  }
  return FirstFit(node.right, from, size);
}

Holes::Index Holes::LastBefore(DevicePtr p) const {
  Index best = 0;
  for (Index n = root_; n != 0;) {
    if (nodes_[n].start < p) {
      best = n;
      n = nodes_[n].right;
    } else {
      n = nodes_[n].left;
    }
  }
  return best;
}

void Holes::Insert(DevicePtr start, Bytes size) {
  Index n;
  if (free_.empty()) {
    n = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    n = free_.back();
    free_.pop_back();
  }
  // Xorshift: balance needs priorities that have nothing to do with addresses, no more.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  nodes_[n] = Node{start, size, size, random_, 0, 0};
  Index below = 0;
  Index rest = 0;
  Split(root_, start, &below, &rest);
  root_ = Merge(Merge(below, n), rest);
}

void Holes::Erase(DevicePtr start) {
  Index below = 0;
  Index rest = 0;
  Index node = 0;
  Split(root_, start, &below, &rest);
  Split(rest, start + Bytes(1), &node, &rest);
  VS_CHECK(node != 0 && nodes_[node].left == 0 && nodes_[node].right == 0);
  free_.push_back(node);
  root_ = Merge(below, rest);
}

void Holes::Resize(Index tree, DevicePtr old_start, DevicePtr start, Bytes size) {
  VS_CHECK(tree != 0);
  Node& node = nodes_[tree];
  if (old_start == node.start) {
    node.start = start;
    node.size = size;
  } else {
    Resize(old_start < node.start ? node.left : node.right, old_start, start, size);
  }
  Pull(tree);
}

void Holes::Split(Index tree, DevicePtr at, Index* below, Index* rest) {
  if (tree == 0) {
    *below = *rest = 0;
    return;
  }
  Node& node = nodes_[tree];
  if (node.start < at) {
    Split(node.right, at, &node.right, rest);
    *below = tree;
  } else {
    Split(node.left, at, below, &node.left);
    *rest = tree;
  }
  Pull(tree);
}

Holes::Index Holes::Merge(Index a, Index b) {
  if (a == 0 || b == 0) return a != 0 ? a : b;
  if (nodes_[a].priority >= nodes_[b].priority) {
    nodes_[a].right = Merge(nodes_[a].right, b);
    Pull(a);
    return a;
  }
  nodes_[b].left = Merge(a, nodes_[b].left);
  Pull(b);
  return b;
}

void Holes::Pull(Index n) {
  Node& node = nodes_[n];
  node.largest = std::max({node.size, nodes_[node.left].largest, nodes_[node.right].largest});
}

void Holes::CheckInvariants() const {
  DevicePtr end;
  Bytes total;
  VS_CHECK(CheckTree(root_, &end, &total) == count());
  VS_CHECK(total == total_);
  VS_CHECK(nodes_[0].largest == Bytes(0));
}

// In address order; `end` is where the hole before ends, `total` what was seen so far.
size_t Holes::CheckTree(Index tree, DevicePtr* end, Bytes* total) const {
  if (tree == 0) return 0;
  const Node& node = nodes_[tree];
  const Node& left = nodes_[node.left];
  const Node& right = nodes_[node.right];
  size_t count = 1 + CheckTree(node.left, end, total);
  VS_CHECK(node.size.value != 0);
  // Strictly after, or the two would be one hole.
  VS_CHECK(end->value == 0 || node.start > *end);
  VS_CHECK(node.largest == std::max({node.size, left.largest, right.largest}));
  VS_CHECK(node.left == 0 || left.priority <= node.priority);
  VS_CHECK(node.right == 0 || right.priority <= node.priority);
  *end = EndOf(tree);
  *total += node.size;
  return count + CheckTree(node.right, end, total);
}

}  // namespace vramspan
