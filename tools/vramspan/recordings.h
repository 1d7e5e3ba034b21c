// What the processes of a program record into a folder, while they do and afterwards.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_RECORDINGS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_RECORDINGS_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"

namespace vramspan {

struct LongestRecording {
  replay::RecordedRun run;
  std::string path;
  size_t others = 0;  // Recordings that hold work, too.
};

// The recording with most work: a program may start others. NotFound where none holds work; the
// error of one that cannot be read, where there is one.
StatusOr<LongestRecording> LongestIn(const std::string& folder);

// Whether a program that still records there has done enough rounds (tools/replay/rounds.h): so
// many of one kind, in so much time, and it is in them now. Looks rarely enough to take a tenth of
// one core at most.
class EnoughRounds {
 public:
  EnoughRounds(std::string folder, size_t least, std::chrono::seconds least_time);

  // May be asked at any time; most answers are that of before.
  bool Reached();
  // Once it is reached.
  size_t rounds() const { return rounds_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Look();

  const std::string folder_;
  const size_t least_;
  const std::chrono::seconds least_time_;
  Clock::time_point next_;
  size_t rounds_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_RECORDINGS_H_
