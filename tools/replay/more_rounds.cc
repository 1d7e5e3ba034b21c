#include "tools/replay/more_rounds.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tools/replay/rounds.h"

namespace vramspan::replay {
namespace {

constexpr uint64_t kMostRepeated = 20'000'000;

// Works [begin, end), at steps from first_step to before last_step.
struct Round {
  uint32_t begin = 0, end = 0;
  size_t first_step = 0, last_step = 0;
};

std::vector<size_t> StepsOfWorks(const RecordedRun& run) {
  std::vector<size_t> steps(run.works.size());
  for (size_t i = 0; i < run.steps.size(); ++i) {
    if (run.steps[i].kind == RecordedStep::Kind::kWork) steps[run.steps[i].index] = i;
  }
  return steps;
}

std::optional<Round> FindRound(const RecordedRun& run, const Rounds& rounds) {
  const std::vector<size_t> steps = StepsOfWorks(run);
  for (size_t i = rounds.count(); i-- > 0;) {
    const uint32_t begin = rounds.begins()[i];
    const uint32_t end = i + 1 < rounds.count() ? rounds.begins()[i + 1] : rounds.end();
    // Without an allocation there is a step for each piece of work, and time passes.
    if (steps[end] - steps[begin] != end - begin) continue;
    if (run.works[end].submitted > run.works[begin].submitted) {
      return Round{begin, end, steps[begin], steps[end]};
    }
  }
  return std::nullopt;
}

class Repeater {
 public:
  Repeater(RecordedRun* run, const Round& round, uint64_t more)
      : run_(*run),
        round_(round),
        more_(more),
        from_(run->works[round.begin].submitted),
        to_(run->works[round.end].submitted) {}

  void Repeat() {
    // What comes behind the round is put off first: all are found by the times before.
    PutOffMemory();
    RepeatWaits();
    RepeatDiscards();
    RepeatWorks();
    RepeatSteps();
  }

 private:
  uint32_t more_works() const { return static_cast<uint32_t>(more_ * (round_.end - round_.begin)); }
  uint64_t Later(uint64_t rounds) const { return rounds * (to_ - from_); }

  void PutOffMemory() {
    for (size_t i = round_.last_step; i < run_.steps.size(); ++i) {
      const RecordedStep& step = run_.steps[i];
      if (step.kind == RecordedStep::Kind::kWork) continue;
      RecordedAllocation& a = run_.allocations[step.index];
      uint64_t& time = step.kind == RecordedStep::Kind::kAllocate ? a.allocated : a.freed;
      if (time != kNever) time += Later(more_);
    }
    for (RecordedMove& move : run_.moves) {
      if (move.time > to_) move.time += Later(more_);
    }
    // What was compared across the repeated rounds says nothing of them.
    std::erase_if(run_.comparisons, [this](const RecordedComparison& c) {
      return c.first < round_.end && c.last >= round_.end;
    });
    for (RecordedComparison& c : run_.comparisons) {
      if (c.first < round_.end) continue;
      c.first += more_works();
      c.last += more_works();
    }
  }

  void RepeatWaits() {
    std::vector<RecordedWait> waits, behind;
    std::vector<RecordedWait> round;
    for (const RecordedWait& wait : run_.waits) {
      (wait.time > to_ ? behind : waits).push_back(wait);
      if (wait.time > from_ && wait.time <= to_) round.push_back(wait);
    }
    const auto add = [&waits](const std::vector<RecordedWait>& of, uint64_t later) {
      for (RecordedWait wait : of) {
        wait.time += later;
        waits.push_back(wait);
      }
    };
    for (uint64_t i = 1; i <= more_; ++i) add(round, Later(i));
    add(behind, Later(more_));
    run_.waits = std::move(waits);
  }

  // A round has those behind its first work, up to the first of the next.
  void RepeatDiscards() {
    const auto in = std::partition_point(
        run_.discards.begin(), run_.discards.end(),
        [this](const RecordedDiscard& d) { return d.step <= round_.first_step; });
    const auto behind = std::partition_point(
        in, run_.discards.end(),
        [this](const RecordedDiscard& d) { return d.step <= round_.last_step; });
    const std::vector<RecordedDiscard> round(in, behind), rest(behind, run_.discards.end());
    run_.discards.erase(behind, run_.discards.end());
    const auto add = [this](const std::vector<RecordedDiscard>& of, uint64_t rounds) {
      for (RecordedDiscard d : of) {
        d.time += Later(rounds);
        d.step += static_cast<uint32_t>(rounds) * (round_.end - round_.begin);
        run_.discards.push_back(d);
      }
    };
    for (uint64_t i = 1; i <= more_; ++i) add(round, i);
    add(rest, more_);
  }

  void RepeatWorks() {
    const auto begin = run_.works.begin() + round_.begin, end = run_.works.begin() + round_.end;
    const std::vector<RecordedWork> round(begin, end);
    const std::vector<RecordedWork> behind(end, run_.works.end());
    run_.works.erase(end, run_.works.end());
    const auto add = [this](const std::vector<RecordedWork>& of, uint64_t later) {
      for (RecordedWork work : of) {
        work.submitted += later;
        work.start += later;
        work.end += later;
        run_.works.push_back(work);
      }
    };
    for (uint64_t i = 1; i <= more_; ++i) add(round, Later(i));
    add(behind, Later(more_));
  }

  void RepeatSteps() {
    const auto end = run_.steps.begin() + static_cast<ptrdiff_t>(round_.last_step);
    std::vector<RecordedStep> behind(end, run_.steps.end());
    run_.steps.erase(end, run_.steps.end());
    for (uint32_t i = 0; i < more_works(); ++i) {
      run_.steps.push_back({RecordedStep::Kind::kWork, round_.end + i});
    }
    for (RecordedStep step : behind) {
      if (step.kind == RecordedStep::Kind::kWork) step.index += more_works();
      run_.steps.push_back(step);
    }
  }

  RecordedRun& run_;
  const Round round_;
  const uint64_t more_;
  const uint64_t from_, to_;
};

}  // namespace

StatusOr<RecordedRun> WithRounds(RecordedRun run, uint64_t rounds) {
  const Phases phases(run);
  const Rounds& main = phases.main();
  if (main.empty()) {
    return absl::InvalidArgumentError(
        "the program does not repeat itself, as far as the recording shows");
  }
  if (rounds <= main.count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the recording has ", main.count(), " rounds; use more"));
  }
  const std::optional<Round> round = FindRound(run, main);
  if (!round) {
    return absl::InvalidArgumentError(
        "each of its rounds allocates or frees device memory, so none can be repeated");
  }
  const uint64_t more = rounds - main.count();
  // What a round gives up is bounded as its work is: there may be any number of it.
  const uint64_t each = std::max<uint64_t>(round->end - round->begin, run.discards.size());
  const uint64_t have = std::max(run.works.size(), run.discards.size());
  const uint64_t most = (kMostRepeated - std::min<uint64_t>(kMostRepeated, have)) / each;
  if (more > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("that is too much work; use up to ", main.count() + most, " rounds"));
  }
  Repeater(&run, *round, more).Repeat();
  return run;
}

}  // namespace vramspan::replay
