#include "tools/vramspan/demo_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace vramspan::demo {

Progress::Style Progress::StyleOfStderr() {
  return isatty(STDERR_FILENO) != 0 ? Style::kTerminal : Style::kLines;
}

Progress::~Progress() {
  if (shown_ != 0) Rewrite("");
}

void Progress::Note(const std::string& text) {
  if (style_ == Style::kNone) return;
  if (shown_ != 0) Rewrite("");
  std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::Begin(const std::string& part) {
  part_ = part;
  if (style_ == Style::kLines) std::fprintf(stderr, "%s\n", part.c_str());
  if (style_ == Style::kTerminal) Rewrite(part);
}

void Progress::Step(const std::string& detail) {
  if (style_ == Style::kTerminal) Rewrite(part_ + ": " + detail);
}

void Progress::Rewrite(const std::string& text) {
  // Blanks cover what was longer before; an empty text leaves the cursor at the line's start.
  const size_t blanks = shown_ - std::min(shown_, text.size());
  std::fprintf(stderr, "\r%s%*s%s", text.c_str(), static_cast<int>(blanks), "",
               text.empty() ? "\r" : "");
  std::fflush(stderr);
  shown_ = text.size();
}

}  // namespace vramspan::demo
