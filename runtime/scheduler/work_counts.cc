#include "runtime/scheduler/work_counts.h"

#include "runtime/base/log.h"
#include "runtime/scheduler/untouched_chunks.h"

namespace vramspan {
namespace {

void Touch(const ChunkUse& use, Chunk* c) {
  if (!IsNobodys(use.how, *c)) c->Touch();
}

}  // namespace

void WorkCounts::Queued(const Work& work, int by) {
  if (!Counts(work)) return;
  // Those that need only be mapped as well: they may move, but must not be freed before it ends.
  work.ForEach([&](const ChunkUse& use) {
    Chunk& c = residency_[use.chunk];
    c.queued = static_cast<uint16_t>(c.queued + by);
  });
}

void WorkCounts::Released(const Work& work, EvictionPolicy* policy) {
  barriers_ += work.barrier();
  need_all_mapped_ += work.needs_all_mapped();
  if (!Counts(work)) return;
  for (const ChunkUse& use : work.mapped_only) {
    Chunk& c = residency_[use.chunk];
    ++c.mapped_only;
    if (c.empty()) residency_.NoteChange(use.chunk);
    Touch(use, &c);
  }
  work.ForEachFixed([&](const ChunkUse& use) {
    Chunk& c = residency_[use.chunk];
    if (c.in_flight++ == 0) residency_.NoteChange(use.chunk);
    Touch(use, &c);
    if (policy != nullptr && c.on_device) policy->OnUse(use.chunk);
    c.unused = c.unused && (use.how.possible || work.kind != Work::Kind::kScope);
  });
}

void WorkCounts::Ended(const Work& work) {
  barriers_ -= work.barrier();
  need_all_mapped_ -= work.needs_all_mapped();
  if (!Counts(work)) return;
  for (const ChunkUse& use : work.mapped_only) --residency_[use.chunk].mapped_only;
  work.ForEachFixed([&](const ChunkUse& use) {
    Chunk& c = residency_[use.chunk];
    VS_DCHECK(c.in_flight != 0);
    if (--c.in_flight == 0) residency_.NoteChange(use.chunk);
  });
}

void WorkCounts::SetInSubmission(Work* work, bool in_submission) {
  if (work->in_submission == in_submission) return;
  work->in_submission = in_submission;
  const int by = in_submission ? 1 : -1;
  in_submission_ += by;
  if (work->access == Access::kUnknown) unknown_in_submission_ += by;
  work->ForEach([&](const ChunkUse& use) {
    if (use.how.kernels_only) return;
    Chunk& c = residency_[use.chunk];
    c.in_submission = static_cast<uint16_t>(c.in_submission + by);
    residency_.NoteChange(use.chunk);
  });
}

}  // namespace vramspan
