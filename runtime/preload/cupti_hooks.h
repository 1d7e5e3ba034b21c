// CUPTI, which takes one subscriber at a time and tells nobody who waits: where it is our launch
// source (--tracer cupti) and the program asks for it, by cuptiSubscribe or cuptiFinalize, it is
// given up first. The functions are exported here and answered to dlsym; all else of CUPTI is left
// alone. Not seen: a tool with a CUPTI of its own linked in statically.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CUPTI_HOOKS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CUPTI_HOOKS_H_

#include <string_view>

namespace vramspan::preload {

// What to answer in place of CUPTI's function `real` of that name; null where it has no hook, or
// where `real` is null.
void* CuptiHook(std::string_view name, void* real);
bool IsCuptiHooked(std::string_view name);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CUPTI_HOOKS_H_
