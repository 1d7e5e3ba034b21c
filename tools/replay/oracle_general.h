// libCacheSim's oracleGeneral, the format in which cache traces are shared: records of 24 bytes,
// little endian, one for each request, without a header:
//   u32 time in seconds, u64 object, u32 size in bytes, i64 next
// where `next` is the number of the object's next request, the first of all being 1, and -1 where
// there is none (libCacheSim/bin/traceUtils/traceConvOracleGeneral.cpp).
//
// In: every object becomes an allocation that is there from its first request on, every request a
// piece of work that touches it. Memory moves in granules, so an object of less than 2 MiB takes
// one: the trace then says how it behaves that is as large as many granules. Times are estimates
// (estimated_times.h): the seconds are those of another machine. `next` is not needed.
//
// Out: every chunk that a piece of work names becomes a request, of that size. What is freed is
// just not asked for again; nothing says what was written, moved, or when memory was allocated.
#ifndef VRAMSPAN_TOOLS_REPLAY_ORACLE_GENERAL_H_
#define VRAMSPAN_TOOLS_REPLAY_ORACLE_GENERAL_H_

#include <streambuf>
#include <string>
#include <string_view>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

// Packed by gzip, by zstd, or not (text_source.h). Errors name the file. FailedPrecondition for
// what is no such trace, ResourceExhausted beyond 10^8 requests or more memory than any machine
// has. What is cut short is used as far as it goes, and is one of the run's problems.
StatusOr<RecordedRun> LoadOracleGeneral(const std::string& path);
// The same from its bytes, whose errors name no file.
StatusOr<RecordedRun> ReadOracleGeneral(std::streambuf* bytes);

// Whether a file that begins with these bytes may be one: there is no mark, but time does not run
// backwards, and `next` leads to the same object where that can be seen.
bool LooksLikeOracleGeneral(std::string_view begin);

// AlreadyExists where there is a file and not `force`; errors name it.
Status SaveOracleGeneral(const ChunkedRun& run, const std::string& path, bool force);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ORACLE_GENERAL_H_
