#include "runtime/placement/learned_kernels.h"

#include <map>
#include <set>
#include <utility>

namespace vramspan {
namespace {

// What this run has only taken over grows older by what the file said of it. What it took from
// elsewhere, as from a profile, is not the file's.
void GrowOlder(const LearnedKernel* before, LearnedKernel* kernel) {
  for (LearnedKernel::Argument& a : kernel->arguments) {
    a.age = a.price.told ? Learned::kMostAge + 1 : 0;
    if (!a.price.told || before == nullptr) continue;
    for (const LearnedKernel::Argument& b : before->arguments) {
      if (b.price.slot == a.price.slot && b.price.wide == a.price.wide) a.age = b.age + 1;
    }
  }
  kernel->resident_age = 0;
  if (kernel->resident_told) {
    kernel->resident_age = before == nullptr ? Learned::kMostAge + 1 : before->resident_age + 1;
  }
  kernel->resident_told = false;
  if (kernel->resident_age > Learned::kMostAge) {
    kernel->resident_ns = 0;
    kernel->touched = Bytes(0);
    kernel->resident_age = 0;
  }
  std::erase_if(kernel->arguments, [](const auto& a) { return a.age > Learned::kMostAge; });
}

}  // namespace

Learned Learned::After(std::vector<LearnedKernel> seen) const {
  std::map<KernelIdentity, const LearnedKernel*> before;
  for (const LearnedKernel& k : kernels) before.try_emplace(k.id, &k);
  Learned after = {.key = key, .program = program, .device = device, .runs = runs + 1};
  std::set<KernelIdentity> launched;
  for (LearnedKernel& k : seen) {
    if (after.kernels.size() == kMostKernels) break;
    const auto known = before.find(k.id);
    k.age = 0;
    GrowOlder(known == before.end() ? nullptr : known->second, &k);
    launched.insert(k.id);
    if (k.resident_ns != 0 || !k.arguments.empty()) after.kernels.push_back(std::move(k));
  }
  for (const LearnedKernel& k : kernels) {
    if (after.kernels.size() == kMostKernels) break;
    if (launched.contains(k.id) || k.age >= kMostAge) continue;
    after.kernels.push_back(k);
    ++after.kernels.back().age;
  }
  return after;
}

}  // namespace vramspan
