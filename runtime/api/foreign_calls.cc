#include "runtime/api/foreign_calls.h"

#include <array>
#include <atomic>
#include <utility>

#include "runtime/api/traced_contexts.h"
#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

static_assert(TracedContexts::kMost <= 32);

constinit std::array<std::atomic<CUcontext>, 64> passers{};

// Each context once, or twice where another has gone meanwhile. What does not fit goes unnoticed.
void NoteUntracked(CUcontext context) {
  for (std::atomic<CUcontext>& passer : passers) {
    CUcontext known = passer.load(std::memory_order_relaxed);
    if (known == context) return;
    if (known != nullptr) continue;
    if (passer.compare_exchange_strong(known, context) || known == context) return;
  }
}

}  // namespace

void BeginWorkBesideOthers(uint32_t call, const void* params, CUcontext context,
                           const Tracer* own) {
  TracedContexts& contexts = TracedContexts::Get();
  // Before it passes any gate: who closes that looks here.
  NoteUntracked(context);
  auto& entries = contexts.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    Tracer* const other = entries[i].tracer.load(std::memory_order_acquire);
    if (other == nullptr || other == own) continue;
    const OwnCallsOfLaunch calls;
    UseOfTracer use(entries[i]);
    if (use.tracer() == nullptr) continue;
    const Tracer::Foreign begun = use.tracer()->BeginForeignWork(call, params);
    if (begun == Tracer::Foreign::kNone) continue;
    (begun == Tracer::Foreign::kUntracked ? begun_foreign_work.passing
                                          : begun_foreign_work.tracers) |= 1u << i;
    begun_foreign_work.sides = (begun_foreign_work.sides & ~(1u << i)) | use.Keep() << i;
  }
  if (begun_foreign_work.tracers != 0) begun_foreign_work.stream = Tracer::StreamOf(call, params);
}

void EndForeignWork() {
  auto& entries = TracedContexts::Get().entries();
  const uint32_t passing = std::exchange(begun_foreign_work.passing, 0),
                 visited = std::exchange(begun_foreign_work.tracers, 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (((passing | visited) & 1u << i) == 0) continue;
    TracedContexts::Entry& e = entries[i];
    Tracer* const tracer = e.kept.load(std::memory_order_acquire);
    if ((visited & 1u << i) != 0) {
      tracer->EndForeignWork(begun_foreign_work.stream);
    } else {
      tracer->EndUntracked();
    }
    e.inside.Leave(begun_foreign_work.sides >> i & 1);
  }
}

std::vector<CUcontext> ContextsThatPassed(CUcontext own) {
  std::vector<CUcontext> others;
  for (const std::atomic<CUcontext>& passer : passers) {
    const CUcontext context = passer.load(std::memory_order_relaxed);
    if (context != nullptr && context != own) others.push_back(context);
  }
  return others;
}

void ForgetPasser(CUcontext context) {
  for (std::atomic<CUcontext>& passer : passers) {
    CUcontext known = context;
    passer.compare_exchange_strong(known, nullptr);
  }
}

}  // namespace vramspan
