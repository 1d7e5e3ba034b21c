#include "tools/replay/rounds.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/mix.h"

namespace vramspan::replay {
namespace {

// So many pieces of work in a row tell where a round begins; a power of two.
constexpr size_t kMark = 8;
constexpr Bytes kLarge = MiB(4);
// Times that a round may have its own beginning in it.
constexpr size_t kMostWithin = 64;
// Of the work beside a round and the next so much is alike, by so many samples; where only large
// memory is looked at, less.
constexpr double kAlike = 0.97, kRoughlyAlike = 0.9;
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

// Of kMark works in a row, from that of each: of two in a row, then of two such, and so on.
Hashes InARow(Hashes marks) {
  for (size_t half = 1; half < kMark; half *= 2) {
    if (marks.size() <= half) return {};
    for (size_t i = 0; i + half < marks.size(); ++i) marks[i] = Mix(marks[i], marks[i + half]);
    marks.resize(marks.size() - half);
  }
  return marks;
}

// Of the code and the memory of kMark in a row.
Hashes MarksOf(const RecordedRun& run, const Hashes& codes) {
  Hashes marks;
  marks.reserve(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) marks.push_back(Mix(codes[i], run.works[i].set));
  return InARow(std::move(marks));
}

// Of memory only the large: weights, where activations are elsewhere each time. kNoMark where there
// is none, for that the layers of a model share.
constexpr uint64_t kNoMark = 0;
Hashes RoughMarksOf(const RecordedRun& run, const Hashes& codes) {
  Hashes sets(run.sets());
  for (uint32_t s = 0; s < run.sets(); ++s) {
    for (const RecordedRange& r : run.set(s)) {
      if (r.size < kLarge.value) continue;
      sets[s] = Mix(Mix(sets[s], r.allocation + uint64_t{1}), r.offset);
    }
  }
  Hashes marks;
  marks.reserve(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) marks.push_back(Mix(codes[i], sets[run.works[i].set]));
  marks = InARow(std::move(marks));
  size_t large = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    large += sets[run.works[i].set] != 0;
    if (i < kMark - 1) continue;
    const size_t first = i - (kMark - 1);
    if (large == 0 && first < marks.size()) marks[first] = kNoMark;
    large -= sets[run.works[first].set] != 0;
  }
  return marks;
}

uint32_t MedianStep(absl::Span<const uint32_t> begins) {
  std::vector<uint32_t> steps;
  for (size_t i = 1; i < begins.size(); ++i) steps.push_back(begins[i] - begins[i - 1]);
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  absl::c_nth_element(steps, middle);
  return *middle;
}

double Covered(const Rounds& rounds) {
  return static_cast<double>(rounds.count()) * rounds.works();
}

class Finder {
 public:
  explicit Finder(const RecordedRun& run)
      : codes_(CodesOf(run)), marks_(MarksOf(run, codes_)), rough_(RoughMarksOf(run, codes_)) {}

  // The best rounds of the works from `from` to before `to`, at least so many of which are in them.
  Rounds Find(size_t from, size_t to, double least) const {
    Rounds found = Find(marks_, kAlike, from, to, least);
    return found.empty() ? Find(rough_, kRoughlyAlike, from, to, least) : found;
  }
  // The best, and those before it and behind it.
  void AddPhases(size_t from, size_t to, double least, std::vector<Rounds>* phases) const;
  size_t works() const { return codes_.size(); }

 private:
  Rounds Find(const Hashes& marks, double alike, size_t from, size_t to, double least) const;
  // Of the code, so much.
  bool Repeats(double alike, size_t middle, size_t distance, size_t from, size_t to) const;

  const Hashes codes_, marks_, rough_;
};

// Whether what lies up to `distance` to both sides of `middle` comes again as far behind it.
bool Finder::Repeats(double alike, size_t middle, size_t distance, size_t from, size_t to) const {
  const size_t begin = middle - std::min(middle - from, distance);
  const size_t end = std::min(middle + distance, to - distance);
  const size_t step = std::max<size_t>(1, (end - begin) / kSamples);
  size_t same = 0, all = 0;
  for (size_t i = begin; i < end; i += step) {
    same += codes_[i] == codes_[i + distance];
    ++all;
  }
  return static_cast<double>(same) >= alike * static_cast<double>(all);
}

Rounds Finder::Find(const Hashes& marks, double alike, size_t from, size_t to, double least) const {
  Rounds result;
  if (marks.empty() || to - from < kPlaces + kMark) return result;
  const size_t last = to - kMark + 1;  // Of the marks, this is behind those of the works.
  // Some places have memory that is other in some rounds, and find fewer than there are.
  // Nothing is better than what covers all of the work.
  double best = 0;
  const auto most = static_cast<double>(to - from);
  for (size_t p = 1; p < kPlaces && best * kBetter < most; ++p) {
    const size_t place = from + (last - from) / kPlaces * p;
    if (marks[place] == kNoMark) continue;
    std::vector<uint32_t> all;  // Where that which is there comes again.
    size_t at = 0;              // Of the place in `all`.
    for (size_t i = from; i < last; ++i) {
      if (marks[i] != marks[place]) continue;
      if (i == place) at = all.size();
      all.push_back(static_cast<uint32_t>(i));
    }
    for (size_t each = 1; each <= kMostWithin && at + each < all.size(); ++each) {
      if (!Repeats(alike, place, all[at + each] - place, from, to)) continue;
      std::vector<uint32_t> begins;
      for (size_t i = at % each; i < all.size(); i += each) begins.push_back(all[i]);
      Rounds found{absl::MakeConstSpan(begins)};
      const double covered = Covered(found);
      if (found.count() < Rounds::kLeast || covered < least) continue;
      // A loop within a step leaves out what lies between its last round and the next step's first.
      const double even = covered / (begins.back() - begins.front());
      const double score = covered * std::pow(even, 4);
      if (score > best * kBetter) {
        best = score;
        result = std::move(found);
      }
      if (even == 1) break;  // Longer ones are several of these.
    }
  }
  return result;
}

void Finder::AddPhases(size_t from, size_t to, double least, std::vector<Rounds>* phases) const {
  if (static_cast<double>(to - from) < least) return;
  Rounds found = Find(from, to, least);
  if (found.empty()) return;
  const size_t begin = found.begins().front(), end = found.end();
  AddPhases(from, begin, least, phases);
  phases->push_back(std::move(found));
  AddPhases(end, to, least, phases);
}

}  // namespace

// Those of about as many pieces of work.
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

Phases::Phases(const RecordedRun& run) {
  const Finder finder(run);
  const auto works = static_cast<double>(finder.works());
  finder.AddPhases(0, finder.works(), kLeastShare * works, &all_);
  const auto most = absl::c_max_element(
      all_, [](const Rounds& a, const Rounds& b) { return Covered(a) < Covered(b); });
  if (most != all_.end() && Covered(*most) >= kMainShare * works) main_ = *most;
  double covered = 0;
  for (const Rounds& phase : all_) covered += Covered(phase);
  fair_part_ = covered >= kMainShare * works;
}

uint64_t Phases::Repeated(absl::Span<const uint64_t> ends) const {
  uint64_t sum = 0;
  for (const Rounds& phase : all_) sum += phase.count() * phase.Median(ends);
  return fair_part_ ? sum : 0;
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
