#include "runtime/mover/foreign_work.h"

#include "runtime/mover/now.h"

namespace vramspan {

void ForeignWork::Begin() {
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  scheduler_.work().ForeignWorkBegan(Now());
}

void ForeignWork::BeginAndWait() {
  Begin();
  MutexLock lock(memory_.mu);
  watch_.WaitUntil([&] {
    const bool any = memory_.any_unmapped();
    scheduler_.unmapped().MapAll(any);
    if (any) signals_.Wake();
    return watch_.dead() || (!any && !scheduler_.moving());
  });
}

void ForeignWork::End() {
  MutexLock lock(memory_.mu);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (!scheduler_.work().ForeignWorkEnded()) return;
  memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  signals_.Wake();
}

void ForeignWork::BeginQuery() {
  MutexLock lock(memory_.mu);
  scheduler_.reachability().QueryBegan();
  if (memory_.any_unmapped()) scheduler_.unmapped().KeepMapped(Now());
  work_.WaitMapped([&] { return !watch_.dead() && scheduler_.reachability().QueryMustWait(); });
}

void ForeignWork::EndQuery() {
  MutexLock lock(memory_.mu);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (scheduler_.reachability().QueryEnded()) signals_.Wake();
}

}  // namespace vramspan
