// What contradicts itself in a trace, for the user to read: the first few in words, then a number.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_TRACE_PROBLEMS_H_
#define VRAMSPAN_TOOLS_REPLAY_TRACE_PROBLEMS_H_

#include <absl/strings/str_cat.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/replay/run_limits.h"

namespace vramspan::replay {

class TraceProblems {
 public:
  void Note(std::string what) {
    if (problems_.size() < kMost) {
      problems_.push_back(std::move(what));
    } else {
      ++more_;
    }
  }
  // Whether it is beyond every clock; sums of times must not run over.
  bool Late(uint64_t time) {
    if (time <= kMostTime) return false;
    Note(absl::StrCat("an event of ", time, " ns is left out, because no trace is as long"));
    return true;
  }
  // Those of the file itself come before all others.
  void PutFirst(const std::vector<std::string>& problems) {
    problems_.insert(problems_.begin(), problems.begin(), problems.end());
  }
  // All of them. Nothing is noted any more.
  std::vector<std::string> Finish() {
    if (more_ != 0) problems_.push_back(absl::StrCat(more_, " more such problems"));
    return std::move(problems_);
  }

 private:
  static constexpr size_t kMost = 20;

  std::vector<std::string> problems_;
  uint64_t more_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TRACE_PROBLEMS_H_
