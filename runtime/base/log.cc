#include "runtime/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace vramspan {
namespace {

constexpr int kMaxLines = 64;

void WriteLine(std::string_view text) {
  std::string line = "vramspan: ";
  line.append(text);
  line.push_back('\n');
  // stderr may be closed; there is nowhere else to say so.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

LogLevel FromEnvironment() {
  const char* text = std::getenv("VRAMSPAN_LOG");
  if (text == nullptr) return LogLevel::kWarning;
  const std::string_view v(text);
  if (v == "off") return LogLevel::kOff;
  if (v == "error") return LogLevel::kError;
  if (v == "info") return LogLevel::kInfo;
  if (!v.empty() && v != "warning") {
    WriteLine("VRAMSPAN_LOG is no level: set it to off, error, warning or info; warning is taken");
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

void CheckFailed(const char* file, int line, const char* condition) {
  char text[512];
  std::snprintf(text, sizeof(text), "%s:%d: broken invariant: %s", file, line, condition);
  WriteLine(text);
  std::abort();
}

}  // namespace vramspan
