// One line on stderr, for the few things a user must be told, and the checks that debug builds
// make. Any thread may call; a line is written with one call. Never called while memory suffices.
//
// The program notices nothing of it: nothing is allocated, no signal is raised, and nobody waits. A
// line that finds a full pipe is dropped; the next that is written is preceded by the count.
//
// stderr is what descriptor 2 was when this library was loaded. A program that closes it gets that
// number for a file of its own, which must hold nothing of ours, so nothing is written to anything
// else. That holds for what a program redirects itself (dup2, a daemon's log file), too, for the
// two cannot be told apart: who wants messages there sets VRAMSPAN_STDERR=follow.
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

// Text of many lines that the user has asked for, at the end of the program: waits for a reader,
// but no longer than a second. 0, or why it was not written: EBADF where stderr is no longer what
// it was.
int WriteToStderr(std::string_view text);

// Takes what descriptor 2 is now for stderr. Called when the library is loaded; else for tests.
void RememberStderr();

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
