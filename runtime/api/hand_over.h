// How calls go from CUPTI, where another tool wants it, to the program's hooks, without a gap.
//
// The hooks stand by while CUPTI is the source: they count the calls that they leave to it.
// Threads: any; one at a time takes over or gives back.
#ifndef VRAMSPAN_RUNTIME_API_HAND_OVER_H_
#define VRAMSPAN_RUNTIME_API_HAND_OVER_H_

#include "runtime/observe/launch_source.h"

namespace vramspan {

// The sink that sees calls by CUPTI, and that of hooks beside it: `sink`, with other functions.
vramspanLaunchSink SinkOfCupti(vramspanLaunchSink sink);
vramspanLaunchSink SinkOfStandby(vramspanLaunchSink sink);

// Every call from here on is the hooks', and none of CUPTI's is under way. False where one of those
// does not return for a second: then nothing has changed.
bool LetHooksTakeOver();
// CUPTI could not be given up.
void GiveBackToCupti();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_HAND_OVER_H_
