// Who may move memory in bulk: one process out, one in. Two would halve each other's link.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_TURNS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_TURNS_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// It has memory granted that it does not use, and wants some.
bool Fetches(const Process& process);
bool AnotherFetches(const State& state, ProcessId than);

// Something recalled from it is to be copied, and it answers.
bool Copies(const Process& process);
// Who has the turn to evict and needs it, so that nobody else may begin to. Or nobody: who takes
// long for its slice goes on with it, and another may begin.
ProcessId Evicts(const State& state);
// REQUIRES: nobody else evicts.
void GiveEvictTurn(State& state, ProcessId process, Actions& actions);
// Takes it from who has nothing to copy any more.
void TakeEvictTurn(State& state, Actions& actions);
// Takes the turn to fetch from who needs it no longer, or has had it long enough while others wait.
// Gives it to who has not had it for longest.
void PassFetchTurn(State& state, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_TURNS_H_
