// Rounds of turns on the GPU: who takes part, how long a turn is, and what all of it brings.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_TURN_ROUNDS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_TURN_ROUNDS_H_

#include <cstddef>
#include <cstdint>

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// Pieces of work in a thousand seconds. REQUIRES: time > 0.
uint64_t PaceOf(uint64_t works, Duration time);

size_t TakingPart(const State& state);
// Whether a had less of the turns than b, for its weight.
bool HadLess(const Process& a, const Process& b);
// A turn in which moving memory is a small part of the time.
Duration LengthOfTurn(const State& state);

// It takes part from now on, and holds its work until it has the turn.
void JoinRound(State& state, Process& process, Actions& actions);
void LeaveRound(State& state, Process& process, Actions& actions);
// What of its turn the holder has had by now is in its part.
void CountTurn(State& state);
// It has the turn, and who had it holds its work. REQUIRES: it takes part.
void GiveGpuTurn(State& state, Process& process, Actions& actions);

// All who hold their work are to do so further on.
void HoldOn(State& state, Actions& actions);

// All who want it had the turn since the round began.
bool RoundIsOver(const State& state);
// Whether all together did more in the round that is over than without turns; begins the next.
bool IsWorthIt(State& state);
// There are no more turns,
void EndRounds(State& state, Actions& actions);
// and none for a while: each time longer, until a round was worth it.
void GiveUpTurns(State& state, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_TURN_ROUNDS_H_
