#include "tools/vramspan/recordings.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "tools/replay/load_run.h"
#include "tools/replay/rounds.h"

namespace vramspan {
namespace {

// Of the process that writes run-PID.vramspan.
bool StillRuns(const std::string& path) {
  int pid = 0;
  absl::string_view name = path;
  name.remove_prefix(name.rfind('-') + 1);
  name = name.substr(0, name.find('.'));
  return absl::SimpleAtoi(name, &pid) && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

}  // namespace

StatusOr<LongestRecording> LongestIn(const std::string& folder) {
  std::optional<LongestRecording> longest;
  Status last = absl::NotFoundError(absl::StrCat("no recording in ", folder, " holds work"));
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    StatusOr<replay::RecordedRun> run = replay::LoadRun(file.path().string());
    if (!run.ok()) {
      last = run.status();
      continue;
    }
    if (run->works.empty()) continue;
    const size_t others = longest.has_value() ? longest->others + 1 : 0;
    if (!longest.has_value() || run->works.size() > longest->run.works.size()) {
      longest = LongestRecording{*std::move(run), file.path().string()};
    }
    longest->others = others;
  }
  if (!longest.has_value()) return last;
  return *std::move(longest);
}

EnoughRounds::EnoughRounds(std::string folder, size_t least, std::chrono::seconds least_time)
    : folder_(std::move(folder)),
      least_(std::max(least, replay::Rounds::kLeast)),
      least_time_(least_time),
      next_(Clock::now() + std::max(std::chrono::seconds(1), least_time)) {}

bool EnoughRounds::Reached() {
  constexpr int kShare = 10;  // Of the time, for each look.
  if (rounds_ != 0) return true;
  const Clock::time_point began = Clock::now();
  if (began < next_) return false;
  Look();
  const Clock::time_point ended = Clock::now();
  next_ = ended + std::max<Clock::duration>(std::chrono::seconds(1), (ended - began) * kShare);
  return rounds_ != 0;
}

void EnoughRounds::Look() {
  // What is being written may be half there. It is looked at again.
  const StatusOr<LongestRecording> recording = LongestIn(folder_);
  if (!recording.ok()) return;
  if (!StillRuns(recording->path)) return;
  const std::vector<replay::RecordedWork>& works = recording->run.works;
  const replay::Phases phases(recording->run);
  const replay::Rounds& main = phases.main();
  if (main.count() < least_) return;
  // Else it does something else by now.
  if (works.size() - main.end() > size_t{2} * main.works()) return;
  const uint64_t took = works[main.end()].submitted - works[main.begins().front()].submitted;
  if (std::chrono::nanoseconds(took) < least_time_) return;
  rounds_ = main.count();
}

}  // namespace vramspan
