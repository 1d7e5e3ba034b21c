// One line on stderr, for the few things a user must be told, and the checks that debug builds
// make. Any thread may call; a line is written with one write(2). Never called while memory
// suffices.
#ifndef VRAMSPAN_RUNTIME_BASE_LOG_H_
#define VRAMSPAN_RUNTIME_BASE_LOG_H_

#include <string_view>

namespace vramspan {

// VRAMSPAN_LOG=off|error|warning|info (default warning; announcements are `warning`).
enum class LogLevel { kOff = 0, kError = 1, kWarning = 2, kInfo = 3 };

LogLevel LogThreshold();
void SetLogThreshold(LogLevel level);

// Writes "vramspan: <text>\n" if `level` passes the threshold. After 64 lines of a process further
// warnings and infos are dropped with one closing line, so that a loop cannot flood the terminal.
void Log(LogLevel level, std::string_view text);

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace vramspan

// An invariant that, when broken, would corrupt the program's data: checked in every build.
#define VS_CHECK(c) ((c) ? (void)0 : ::vramspan::CheckFailed(__FILE__, __LINE__, #c))
// The same, in builds with VRAMSPAN_DCHECK (the sanitizer presets).
#ifdef VRAMSPAN_DCHECK
#define VS_DCHECK(c) VS_CHECK(c)
#else
#define VS_DCHECK(c) ((void)sizeof(c))
#endif

#endif  // VRAMSPAN_RUNTIME_BASE_LOG_H_
