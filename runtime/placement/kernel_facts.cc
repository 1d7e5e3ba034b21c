// What KernelHistory takes from an earlier run, and leaves to a later one.
#include "runtime/placement/kernel_history.h"

namespace vramspan {

void KernelHistory::Know(uint64_t id, uint64_t resident_ns, Bytes touched) {
  if (resident_ns == 0) return;
  Kernel& kernel = Find(id);
  if (HasResident(kernel)) return;
  kernel.resident = static_cast<double>(resident_ns);
  kernel.resident_told = true;
  kernel.touched = touched;
  ++changes_;
  ExpectedChanged(id, ExpectedOf(kernel));
}

void KernelHistory::KnowArgument(uint64_t id, const ArgumentPrice& price) {
  Kernel& kernel = Find(id);
  // The user's own profile comes first.
  if (kernel.taught) return;
  Argument& argument = ArgumentOf(kernel, price.slot);
  const size_t width = price.wide ? 1 : 0;
  if (argument.trials[width] != 0) return;
  argument.passes[width] = price.passes;
  argument.first[width][0] = static_cast<float>(price.passes);
  argument.trials[width] = price.sure ? kTrials : 1;
  argument.told[width] = true;
  ++changes_;
}

void KernelHistory::DisproveTold(uint64_t id, Kernel* kernel) {
  const uint64_t before = ExpectedOf(*kernel);
  kernel->resident = kernel->seen;
  kernel->resident_told = false;
  kernel->disproved = true;
  ++changes_;
  if (ExpectedOf(*kernel) != before) ExpectedChanged(id, ExpectedOf(*kernel));
}

KernelFacts KernelHistory::FactsOf(const Kernel& kernel) const {
  KernelFacts facts;
  // The first launches may have loaded it.
  if (Settled(kernel)) {
    facts.resident_ns = static_cast<uint64_t>(kernel.resident);
    facts.touched = kernel.touched;
    facts.resident_told = kernel.resident_told;
  }
  for (const Argument& a : kernel.arguments) {
    for (const size_t width : {0, 1}) {
      if (!a.used || a.trials[width] == 0) continue;
      facts.arguments.push_back({.slot = a.slot,
                                 .wide = width != 0,
                                 .sure = Decided(a, width, 1),
                                 .told = a.told[width],
                                 .passes = a.passes[width]});
    }
  }
  return facts;
}

std::vector<KernelHistory::KnownKernel> KernelHistory::Facts() const {
  std::vector<KnownKernel> all;
  for (auto id = by_age_.rbegin(); id != by_age_.rend(); ++id) {
    const Kernel& kernel = kernels_.at(*id);
    KernelFacts facts = FactsOf(kernel);
    if (facts.resident_ns != 0 || !facts.arguments.empty() || kernel.disproved) {
      all.push_back({*id, std::move(facts)});
    }
  }
  return all;
}

}  // namespace vramspan
