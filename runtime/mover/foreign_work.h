// Work that touches this memory and is not the program's in this context: of other contexts, which
// may write any of it, and the driver's own look-ups.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MOVER_FOREIGN_WORK_H_
#define VRAMSPAN_RUNTIME_MOVER_FOREIGN_WORK_H_

#include "runtime/memory/memory.h"
#include "runtime/mover/context_watch.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/signals.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class ForeignWork {
 public:
  // All outlive it.
  ForeignWork(Memory* memory, Scheduler* scheduler, Signals* signals, ContextWatch* watch,
              ProgramWork* work)
      : memory_(*memory),
        scheduler_(*scheduler),
        signals_(*signals),
        watch_(*watch),
        work_(*work) {}

  // Nothing begins to move from here on.
  void Begin() VS_EXCLUDES(memory_.mu);
  // The same; and nothing moves when it returns, and all memory is mapped.
  void BeginAndWait() VS_EXCLUDES(memory_.mu);
  // REQUIRES: the work is done.
  void End() VS_EXCLUDES(memory_.mu);

  // Around a call that looks memory up in the driver: all that is unmapped is mapped again, and
  // nothing is remapped before EndQuery, nor left unmapped for a while.
  void BeginQuery() VS_EXCLUDES(memory_.mu);
  void EndQuery() VS_EXCLUDES(memory_.mu);

 private:
  Memory& memory_;
  Scheduler& scheduler_;
  Signals& signals_;
  ContextWatch& watch_;
  ProgramWork& work_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_FOREIGN_WORK_H_
