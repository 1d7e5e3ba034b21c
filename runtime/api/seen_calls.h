// What a call of the program goes through, from its entry to its exit, whoever sees it.
//
// Calls of our own (OwnCalls), of threads inside a declared scope, and of contexts without a
// runtime pass by. Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_SEEN_CALLS_H_
#define VRAMSPAN_RUNTIME_API_SEEN_CALLS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/observe/decoder.h"

namespace vramspan {

// As of a launch source (runtime/observe/launch_source.h). `token` says what the exit has to do.
void EnterSeenCall(uint32_t call, const void* params, CUcontext context, uint64_t* token);
void ExitSeenCall(uint32_t call, const void* params, CUresult result, uint64_t token);

// Calls that are to be seen.
std::vector<uint32_t> CallsToSee();

// What reads them: before the first is seen, and for good, for calls may be under way.
inline constinit std::atomic<Decoder*> seen_calls_decoder{nullptr};

// A call that looks memory up has the runtimes that were told of it in its token, a bit each; the
// token of one that submits work names its tracer's entry and the side that the thread is on.
inline constexpr uint64_t kTokenLooksUp = 1;
// Of one that waits, its tracer's address with this.
inline constexpr uint64_t kTokenWaits = 2;
inline bool Submits(uint64_t token) {
  return token != 0 && (token & (kTokenLooksUp | kTokenWaits)) == 0;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_SEEN_CALLS_H_
