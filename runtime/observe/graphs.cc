#include "runtime/observe/graphs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/observe/kernel_codes.h"

namespace vramspan {
namespace {

auto PlaceOf(const Touch& t) { return std::tuple(t.ptr, t.size, t.linear); }

// Each place once, written where anybody writes it. Slots mean nothing in a union.
void Unite(std::vector<Touch>* touches) {
  for (Touch& touch : *touches) touch.slot = 0;
  // Those that write come first of their place.
  std::sort(touches->begin(), touches->end(), [](const Touch& a, const Touch& b) {
    return std::tuple(PlaceOf(a), !a.write) < std::tuple(PlaceOf(b), !b.write);
  });
  touches->erase(
      std::unique(touches->begin(), touches->end(),
                  [](const Touch& a, const Touch& b) { return PlaceOf(a) == PlaceOf(b); }),
      touches->end());
}

template <typename T>
void EachOnce(std::vector<T>* all) {
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
}

}  // namespace

bool NodeKernel::Settle() {
  if (parameters == nullptr) return true;
  if (code->MayBeAnswered()) return false;
  proven = code->ProvenBy(*parameters);
  parameters = nullptr;
  return true;
}

void Graphs::Set(CUgraphExec exec, NodeWorks works, bool device_launch) {
  auto made = std::make_shared<Exec>(device_launch);
  {
    MutexLock lock(made->mu);
    made->works = std::move(works);
  }
  std::shared_ptr<Exec> before;
  MutexLock lock(mu_);
  before = std::exchange(execs_[exec], std::move(made));
  if (before != nullptr && before->device_launch) device_launches_.fetch_sub(1);
  if (device_launch) device_launches_.fetch_add(1);
}

void Graphs::Update(CUgraphExec exec, NodeWorks works) {
  const std::shared_ptr<Exec> found = Find(exec);
  if (found == nullptr) return;
  MutexLock lock(found->mu);
  found->works = std::move(works);
  found->all = nullptr;
}

void Graphs::SetNode(CUgraphExec exec, CUgraphNode node, NodeWork work) {
  const std::shared_ptr<Exec> found = Find(exec);
  if (found == nullptr) return;
  MutexLock lock(found->mu);
  NodeWork& now = found->works[node];
  if (now.device_updatable) work.device_updatable = work.incomplete = true;
  now = std::move(work);
  found->all = nullptr;
}

void Graphs::Forget(CUgraphExec exec) {
  std::shared_ptr<Exec> gone;
  MutexLock lock(mu_);
  const auto it = execs_.find(exec);
  if (it == execs_.end()) return;
  gone = std::move(it->second);
  execs_.erase(it);
  if (gone->device_launch) device_launches_.fetch_sub(1);
}

bool Graphs::Launch(CUgraphExec exec, Submission* out) {
  const std::shared_ptr<Exec> found = Find(exec);
  if (found == nullptr) return false;
  const std::shared_ptr<const NodeWork> all = AllOf(*found);
  out->touches.insert(out->touches.end(), all->touches.begin(), all->touches.end());
  out->host_copies.insert(out->host_copies.end(), all->host_copies.begin(), all->host_copies.end());
  if (all->incomplete) out->incomplete = true;
  for (const NodeKernel& kernel : all->kernels) {
    Trust trust = kernel.code->TrustOf(kernel.given);
    if (kernel.proven) trust = std::max(trust, Trust::kProven);
    out->trust = std::min(out->trust, trust);
    if (trust < Trust::kProven) out->unproven.push_back(kernel.code);
  }
  if (!all->encoded.empty()) out->graph = all;
  return true;
}

std::vector<NodeWork> Graphs::Nodes(CUgraphExec exec, absl::Span<const CUgraphNode> nodes) {
  std::vector<NodeWork> works(nodes.size());
  const std::shared_ptr<Exec> found = Find(exec);
  if (found == nullptr) return works;
  MutexLock lock(found->mu);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto it = found->works.find(nodes[i]);
    if (it != found->works.end()) works[i] = it->second;
  }
  return works;
}

std::shared_ptr<Graphs::Exec> Graphs::Find(CUgraphExec exec) {
  MutexLock lock(mu_);
  const auto it = execs_.find(exec);
  return it != execs_.end() ? it->second : nullptr;
}

bool Graphs::UpToDate(const Exec& exec) {
  return exec.all != nullptr && std::all_of(exec.to_settle.begin(), exec.to_settle.end(),
                                            [](const auto* code) { return code->MayBeAnswered(); });
}

std::shared_ptr<const NodeWork> Graphs::AllOf(Exec& exec) {
  MutexLock lock(exec.mu);
  if (UpToDate(exec)) return exec.all;
  NodeWork all;
  exec.to_settle.clear();
  for (auto& [node, work] : exec.works) {
    all.touches.insert(all.touches.end(), work.touches.begin(), work.touches.end());
    all.host_copies.insert(all.host_copies.end(), work.host_copies.begin(), work.host_copies.end());
    all.encoded.insert(all.encoded.end(), work.encoded.begin(), work.encoded.end());
    all.incomplete |= work.incomplete;
    for (NodeKernel& kernel : work.kernels) {
      if (!kernel.Settle()) exec.to_settle.push_back(kernel.code);
      all.kernels.push_back({.code = kernel.code, .given = kernel.given, .proven = kernel.proven});
    }
  }
  Unite(&all.touches);
  EachOnce(&all.kernels);
  EachOnce(&exec.to_settle);
  static std::atomic<uint64_t> numbers{0};
  all.number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  exec.all = std::make_shared<const NodeWork>(std::move(all));
  return exec.all;
}

}  // namespace vramspan
