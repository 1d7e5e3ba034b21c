#include "tools/replay/rounds.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/replay/mix.h"

namespace vramspan::replay {
namespace {

// So many pieces of work in a row tell where a round begins; a power of two.
constexpr size_t kMark = 8;
// Times that a round may have its own beginning in it.
constexpr size_t kMostWithin = 64;
// Of the work beside a round and the next so much is alike, by so many samples.
constexpr double kAlike = 0.97;
constexpr size_t kSamples = 1 << 12;
// Places where a round may begin that are looked at.
constexpr size_t kPlaces = 32;
// The part of its work by which a round may be longer or shorter than others.
constexpr uint32_t kUneven = 16;
// By so much must what is looked at later be better.
constexpr double kBetter = 1.02;

using Hashes = std::vector<uint64_t>;

// Of the code of each piece of work.
Hashes CodesOf(const RecordedRun& run) {
  Hashes codes;
  codes.reserve(run.works.size());
  for (const RecordedWork& w : run.works) {
    codes.push_back(Mix(static_cast<uint64_t>(w.kind), w.code));
  }
  return codes;
}

// Of the code and the memory of kMark in a row.
Hashes MarksOf(const RecordedRun& run, const Hashes& codes) {
  Hashes marks;
  marks.reserve(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) marks.push_back(Mix(codes[i], run.works[i].set));
  // Of two in a row, then of two such, and so on.
  for (size_t half = 1; half < kMark; half *= 2) {
    if (marks.size() <= half) return {};
    for (size_t i = 0; i + half < marks.size(); ++i) marks[i] = Mix(marks[i], marks[i + half]);
    marks.resize(marks.size() - half);
  }
  return marks;
}

// Whether what lies up to `distance` to both sides of `middle` comes again as far behind it.
bool Repeats(const Hashes& codes, size_t middle, size_t distance) {
  const size_t begin = middle - std::min(middle, distance);
  const size_t end = std::min(middle + distance, codes.size() - distance);
  const size_t step = std::max<size_t>(1, (end - begin) / kSamples);
  size_t same = 0, all = 0;
  for (size_t i = begin; i < end; i += step) {
    same += codes[i] == codes[i + distance];
    ++all;
  }
  return static_cast<double>(same) >= kAlike * static_cast<double>(all);
}

uint32_t MedianStep(absl::Span<const uint32_t> begins) {
  std::vector<uint32_t> steps;
  for (size_t i = 1; i < begins.size(); ++i) steps.push_back(begins[i] - begins[i - 1]);
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  absl::c_nth_element(steps, middle);
  return *middle;
}

}  // namespace

// As if each of `all` began a round, those of about as many pieces of work.
Rounds::Rounds(absl::Span<const uint32_t> all) {
  if (all.size() <= kLeast) return;
  works_ = MedianStep(all);
  for (size_t i = 1; i < all.size(); ++i) {
    const uint32_t step = all[i] - all[i - 1];
    if (step < works_ - works_ / kUneven || step > works_ + works_ / kUneven) continue;
    begins_.push_back(all[i - 1]);
    ends_.push_back(all[i]);
  }
}

Rounds::Rounds(const RecordedRun& run) {
  const Hashes codes = CodesOf(run), marks = MarksOf(run, codes);
  if (marks.size() <= kPlaces) return;
  // Some places have memory that is other in some rounds, and find fewer than there are.
  // Nothing is better than what covers all of the work.
  double best = 0;
  const auto most = static_cast<double>(codes.size());
  for (size_t p = 1; p < kPlaces && best * kBetter < most; ++p) {
    const size_t place = marks.size() / kPlaces * p;
    std::vector<uint32_t> all;  // Where that which is there comes again.
    size_t at = 0;              // Of the place in `all`.
    for (size_t i = 0; i < marks.size(); ++i) {
      if (marks[i] != marks[place]) continue;
      if (i == place) at = all.size();
      all.push_back(static_cast<uint32_t>(i));
    }
    for (size_t each = 1; each <= kMostWithin && at + each < all.size(); ++each) {
      if (!Repeats(codes, place, all[at + each] - place)) continue;
      std::vector<uint32_t> begins;
      for (size_t i = at % each; i < all.size(); i += each) begins.push_back(all[i]);
      Rounds found{absl::MakeConstSpan(begins)};
      const double covered = static_cast<double>(found.count()) * found.works();
      if (found.count() < kLeast || covered < kLeastShare * most) {
        continue;
      }
      // A loop within a step leaves out what lies between its last round and the next step's first.
      const double even = covered / (begins.back() - begins.front());
      const double score = covered * std::pow(even, 4);
      if (score > best * kBetter) {
        best = score;
        *this = std::move(found);
      }
      if (even == 1) break;  // Longer ones are several of these.
    }
  }
}

uint64_t Rounds::Median(absl::Span<const uint64_t> ends) const {
  if (empty()) return 0;
  std::vector<uint64_t> times;
  for (size_t i = 0; i < begins_.size(); ++i) {
    const uint64_t from = ends[begins_[i]], to = ends[ends_[i]];
    times.push_back(to > from ? to - from : 0);
  }
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  absl::c_nth_element(times, middle);
  return *middle;
}

}  // namespace vramspan::replay
