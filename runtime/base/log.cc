#include "runtime/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/file_identity.h"
#include "runtime/base/quiet_write.h"

namespace vramspan {
namespace {

constexpr int kMaxLines = 64;
constexpr std::chrono::milliseconds kStderrPatience{1000};

// stderr as it was when the library was loaded; see log.h. No object with a constructor: whoever
// says something before this file's turn would be before it.
FileIdentity stderr_then;
bool follow = false;
std::atomic<uint64_t> dropped{0};

[[gnu::constructor(101)]] void Loaded() {
  RememberStderr();
  const char* set = std::getenv("VRAMSPAN_STDERR");
  follow = set != nullptr && std::strcmp(set, "follow") == 0;
}

bool StderrIsOurs() { return follow || FileIdentity::Of(STDERR_FILENO) == stderr_then; }

void WriteLine(std::string_view text) {
  using std::chrono::milliseconds;
  if (!StderrIsOurs()) return;
  const uint64_t before = dropped.exchange(0, std::memory_order_relaxed);
  if (before != 0) {
    char count[32];
    std::snprintf(count, sizeof(count), "%llu", static_cast<unsigned long long>(before));
    if (WriteQuietly(STDERR_FILENO,
                     {"vramspan: ", count, " messages were lost, because nobody read them\n"},
                     milliseconds(0)) != 0) {
      dropped.fetch_add(before + 1, std::memory_order_relaxed);
      return;
    }
  }
  if (WriteQuietly(STDERR_FILENO, {"vramspan: ", text, "\n"}, milliseconds(0)) != 0) {
    // There is nowhere else to say so.
    dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

LogLevel FromEnvironment() {
  const char* where = std::getenv("VRAMSPAN_STDERR");
  if (where != nullptr && *where != '\0' && !follow) {
    WriteLine("VRAMSPAN_STDERR is ignored; follow is its only value");
  }
  const char* text = std::getenv("VRAMSPAN_LOG");
  if (text == nullptr) return LogLevel::kWarning;
  const std::string_view v(text);
  if (v == "off") return LogLevel::kOff;
  if (v == "error") return LogLevel::kError;
  if (v == "info") return LogLevel::kInfo;
  if (!v.empty() && v != "warning") {
    WriteLine("VRAMSPAN_LOG is not a level, so warning is taken; use off, error, warning or info");
  }
  return LogLevel::kWarning;
}

std::atomic<LogLevel>& Threshold() {
  static std::atomic<LogLevel> threshold{FromEnvironment()};
  return threshold;
}

}  // namespace

LogLevel LogThreshold() { return Threshold().load(std::memory_order_relaxed); }
void SetLogThreshold(LogLevel level) { Threshold().store(level, std::memory_order_relaxed); }

void Log(LogLevel level, std::string_view text) {
  static std::atomic<int> lines{0};
  if (level > LogThreshold() || level == LogLevel::kOff) return;
  if (level != LogLevel::kError) {
    const int n = lines.fetch_add(1, std::memory_order_relaxed);
    if (n == kMaxLines) WriteLine("further messages of this process are not shown");
    if (n >= kMaxLines) return;
  }
  WriteLine(text);
}

void RememberStderr() { stderr_then = FileIdentity::Of(STDERR_FILENO); }

int WriteToStderr(std::string_view text) {
  if (!StderrIsOurs()) return EBADF;
  return WriteQuietly(STDERR_FILENO, {text}, kStderrPatience);
}

void CheckFailed(const char* file, int line, const char* condition) {
  // Where it was built is nobody's business here: the name from the sources' folder on.
  constexpr size_t kFolder = sizeof(__FILE__) - sizeof("runtime/base/log.cc");
  if (std::strncmp(file, __FILE__, kFolder) == 0) file += kFolder;
  char text[512];
  std::snprintf(text, sizeof(text), "%s:%d: broken invariant: %s", file, line, condition);
  WriteLine(text);
  std::abort();
}

}  // namespace vramspan
