// Who works, where the working sets of several processes do not fit together: one at a time, while
// the others hold their work and give up their memory.
//
// Memory is shared first: what does not fit is streamed, and every placement is right. There are
// turns only where the work of several waits for memory for much of its time. Whether they help is
// seen: after each round all together must have done more than before, else there are none for a
// while. So processes that wait for each other, and those that fill each other's gaps, are let be.
//
// A turn brings nobody more than its part of the time: who waits and had the turn least for its
// weight is next. Tenants of the class latency take no part, nor who cannot hold its work.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_GPU_TURNS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_GPU_TURNS_H_

#include <optional>

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// What its last word says of its work.
void NoteActivity(const State& state, Process& process);
// Begins and ends turns, and passes them on.
void PassGpuTurn(State& state, Actions& actions);
// Whether the holder has its memory, and how long its turn is then. Called when grants are settled.
void TimeGpuTurn(State& state);
// When PassGpuTurn has something to do though nothing happens.
std::optional<Instant> GpuTurnDue(const State& state);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_GPU_TURNS_H_
