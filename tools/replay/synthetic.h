// Runs that nobody recorded, by a line of text: to try replay out, and for tests.
//
//   synthetic:loop,layers=24,passes=20,mib=64,us=3000
//   synthetic:sweep,layers=24,passes=20,mib=64,us=3000
//   synthetic:random,seed=1,allocations=32,works=2000,mib=32,us=500,streams=1
//   synthetic:training,layers=24,passes=10,mib=160,kept=240,us=1200,group=4
//   synthetic:choice,seed=1,models=2,layers=24,turns=20,requests=40,mib=64,us=100
//
// loop: `layers` allocations of `mib` MiB, each used by one kernel of `us` microseconds, one after
// another, `passes` times. sweep: the same forwards and backwards in turn, as training does.
// random: `works` kernels on up to 3 of `allocations` of at most `mib` MiB each, some hotter than
// others, some freed on the way. training: each of `layers` has weights, gradients and two states
// of the optimiser, of `mib` MiB each, and `kept` MiB of activations; forward takes `us`
// microseconds, backward twice as long, and the optimiser goes over the memory of `group` layers at
// once. choice: each of `requests` goes to one of `models`, by no rule, and passes its `layers` of
// `mib` MiB each `turns` times. Every key has the default shown. `lead`: how many microseconds
// apart the program submits its work (default 5: it runs far ahead of the device). written=0: it is
// known that no kernel writes the memory that it names. lifetimes=1, of training: activations are
// given up behind their backward pass, and gradients behind the optimiser.
#ifndef VRAMSPAN_TOOLS_REPLAY_SYNTHETIC_H_
#define VRAMSPAN_TOOLS_REPLAY_SYNTHETIC_H_

#include <string_view>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

bool IsSynthetic(std::string_view spec);

// InvalidArgument names what is wrong and what is allowed. The same run for the same text.
// REQUIRES: IsSynthetic(spec).
StatusOr<RecordedRun> SyntheticRun(std::string_view spec);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SYNTHETIC_H_
