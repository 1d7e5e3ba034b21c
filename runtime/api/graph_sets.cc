#include "runtime/api/graph_sets.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

constexpr Bytes kPiece = kGranularity;

}  // namespace

StatusOr<GraphLaunch> ParseGraphLaunch(std::string_view text) {
  if (text == "auto") return GraphLaunch::kAuto;
  if (text == "whole") return GraphLaunch::kWhole;
  if (text == "cut") return GraphLaunch::kCut;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' is not a way to launch graphs; use auto, whole or cut"));
}

bool GraphSets::MayBeCut(CUgraphExec exec) {
  Submission all;
  if (!graphs_.Launch(exec, &all)) return false;
  absl::flat_hash_map<uint64_t, Bytes> allocations;
  for (const Touch& touch : all.touches) {
    const Extent extent = ExtentOf(touch.ptr);
    if (extent.size != Bytes(0)) allocations[extent.base.value] = extent.size;
  }
  Bytes size;
  for (const auto& [base, each] : allocations) size += each;
  return ToBeCut(size, memory_.device_pool().budget());
}

NodePieces GraphSets::PiecesOf(const NodeWork& work) {
  Submission node;
  node.kind = Submission::Kind::kGraph;
  node.touches = work.touches;
  if (!hidden_.empty()) {
    const HiddenPointers::Extent end = [](void* self, DevicePtr p) {
      const Extent e = static_cast<GraphSets*>(self)->ExtentOf(p);
      return e.base + e.size;
    };
    hidden_.Follow(&node, end, this);
  }
  std::vector<InferredRange> ranges;
  sets_.Infer(
      node, /*possible=*/false, [this](const Touch& touch) { return ExtentOf(touch.ptr); },
      &ranges);
  NodePieces pieces;
  for (const InferredRange& range : ranges) {
    if (!range.likely || range.size == Bytes(0)) continue;
    const uint64_t last = (range.ptr + range.size - Bytes(1)).value / kPiece.value;
    for (uint64_t piece = range.ptr.value / kPiece.value; piece <= last; ++piece) {
      pieces.push_back(piece);
    }
  }
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  return pieces;
}

std::vector<size_t> GraphSets::Cut(CUgraphExec exec, absl::Span<const CUgraphNode> nodes) {
  const std::vector<NodeWork> works = graphs_.Nodes(exec, nodes);
  // Where an array ends the others tell: all are named once before any is asked for.
  for (const NodeWork& work : works) PiecesOf(work);
  std::vector<NodePieces> pieces;
  pieces.reserve(works.size());
  for (const NodeWork& work : works) pieces.push_back(PiecesOf(work));
  return CutGraph(pieces, kPiece, memory_.device_pool().budget());
}

}  // namespace vramspan
