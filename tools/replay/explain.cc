#include "tools/replay/explain.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace vramspan::replay {
namespace {

constexpr size_t kLongestName = 160;
// Less than this of its own time is not worth a reason.
constexpr double kNegligible = 0.01;

std::string Amount(Bytes bytes) {
  if (bytes >= GiB(1)) {
    return absl::StrFormat("%.1f GiB", static_cast<double>(bytes.value) / (1 << 30));
  }
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes.value) / (1 << 20));
}

// "1 launch" or "20 launches".
std::string Times(uint64_t count, std::string_view what) {
  const char* const many = absl::EndsWith(what, "ch") ? "es" : "s";
  return absl::StrCat(count, " ", what, count == 1 ? "" : many);
}

}  // namespace

std::string WhyKernel(const RecordedRun& run, const ReplayResult& result,
                      const KernelResult& kernel) {
  const uint64_t in_place =
      kernel.predicted - std::min(kernel.predicted, kernel.resident + kernel.stall.total());
  const uint64_t lost = in_place + kernel.stall.total();
  if (static_cast<double>(lost) <= kNegligible * static_cast<double>(kernel.resident)) {
    return kernel.fetches == 0 ? "Its memory was on the device whenever it ran."
                               : "What it needed was fetched while other work ran.";
  }
  const uint64_t most =
      std::max({in_place, kernel.stall.copy, kernel.stall.vmm, kernel.stall.drain});
  const std::string share = absl::StrFormat(
      "%.0f %% of what it lost", 100.0 * static_cast<double>(most) / static_cast<double>(lost));
  if (most == in_place) {
    return absl::StrFormat(
        "It used %s of host memory in place, in %s, each byte %.1f times over the bus (%s).%s",
        Amount(kernel.in_place), Times(kernel.served, "chunk"), kernel.passes, share,
        kernel.passes > 2 ? " It reads that memory again and again: more device memory, or smaller "
                            "allocations, would let it be moved instead."
                          : "");
  }
  if (most == kernel.stall.copy) {
    return absl::StrFormat(
        "It waited for %s to be fetched over %s: the copies took longer than the work before it "
        "(%s).",
        Times(kernel.fetches, "chunk"), Times(kernel.launches, "launch"), share);
  }
  if (most == kernel.stall.vmm) {
    return absl::StrFormat(
        "It waited for chunks to be remapped, %s fetched over %s (%s). Larger chunks need fewer "
        "remaps.",
        Times(kernel.fetches, "chunk"), Times(kernel.launches, "launch"), share);
  }
  const bool off = result.setting.overlap == ReplayOverlap::kOff;
  return absl::StrCat("It waited for running work to end before memory could move (", share, ").",
                      off ? " With overlap auto, memory moves beside work that is known to touch "
                            "nothing else."
                      : run.works.size() > 1 ? " What runs uses most of the device's memory."
                                             : "");
}

std::string KernelName(const RecordedCode& code) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(code.name.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 && demangled != nullptr ? demangled.get() : code.name;
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.empty()) name = "(unnamed)";
  if (name.size() > kLongestName) name.replace(kLongestName - 3, std::string::npos, "...");
  return name;
}

std::string AllocationName(const RecordedRun& run, uint32_t allocation) {
  const RecordedAllocation& a = run.allocations[allocation];
  if (!a.name.empty()) return a.name.substr(0, kLongestName);
  return absl::StrFormat("#%d at 0x%x", allocation, a.base.value);
}

const char* OverlapName(ReplayOverlap overlap) {
  const std::optional<Overlap> traced = TracedOverlap(overlap);
  return traced.has_value() ? vramspan::OverlapName(*traced) : "declared";
}

std::optional<ReplayOverlap> ReplayOverlapOf(std::string_view name) {
  if (name == OverlapName(ReplayOverlap::kDeclared)) return ReplayOverlap::kDeclared;
  const std::optional<Overlap> traced = OverlapOf(name);
  return traced.has_value() ? std::optional(ReplayOverlapOf(*traced)) : std::nullopt;
}

}  // namespace vramspan::replay
