#include "tools/replay/lru_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "tools/replay/stack_distances.h"

namespace vramspan::replay {
namespace {

uint32_t Granules(const ChunkedRun& run, ChunkIndex c) {
  return static_cast<uint32_t>(run.size(c) / kGranularity);
}

// splitmix64's finish.
uint64_t Hash(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// From accesses by distance to misses by room.
void SumUp(std::vector<double>* counts) {
  double beyond = 0;
  for (size_t g = counts->size(); g-- > 0;) beyond += std::exchange((*counts)[g], beyond);
}

void Count(std::vector<double>* counts, double distance, double weight) {
  const auto granules = static_cast<size_t>(std::lround(distance));
  if (granules >= counts->size()) counts->resize(std::max(granules + 1, counts->size() * 2));
  (*counts)[granules] += weight;
}

template <typename Accessed, typename Freed>
void Walk(const ChunkedRun& run, Accessed accessed, Freed freed) {
  for (const RecordedStep& step : run.run().steps) {
    if (step.kind == RecordedStep::Kind::kWork) {
      accessed(run.run().works[step.index].set);
    } else if (step.kind == RecordedStep::Kind::kFree) {
      for (uint32_t i = 0; i < run.count(step.index); ++i) {
        freed(ChunkIndex(run.first(step.index).value + i));
      }
    }
  }
}

}  // namespace

uint64_t CountAccesses(const ChunkedRun& run) {
  uint64_t count = 0;
  for (const RecordedWork& work : run.run().works) count += run.chunks(work.set).size();
  return count;
}

LruCurve LruCurve::Exact(const ChunkedRun& run) {
  LruCurve curve;
  curve.accesses_ = CountAccesses(run);
  StackDistances distances(run.end());
  std::vector<uint64_t> counts;
  Walk(
      run,
      [&](uint32_t set) {
        for (const ChunkIndex c : run.chunks(set)) {
          const uint32_t distance = distances.Access(c, Granules(run, c));
          if (distance == StackDistances::kFirst) continue;
          if (distance >= counts.size()) {
            counts.resize(std::max<size_t>(distance + 1, counts.size() * 2));
          }
          ++counts[distance];
        }
      },
      [&](ChunkIndex c) { distances.Free(c); });
  curve.misses_.assign(counts.begin(), counts.end());
  SumUp(&curve.misses_);
  return curve;
}

// The chunks that are in the sample, of which `distances` holds those that are live.
class LruCurve::Sample {
 public:
  Sample(const ChunkedRun& run, const SampleOptions& options)
      : run_(run),
        options_(options),
        threshold_(options.rate < 1 ? static_cast<uint64_t>(std::ldexp(options.rate, 64))
                                    : std::numeric_limits<uint64_t>::max()),
        all_(run.end()),
        parts_(kParts, StackDistances(run.end())) {
    // Most accesses are of chunks that are not in the sample, so each set is looked through once.
    set_first_.reserve(run.run().sets() + 1);
    for (uint32_t s = 0; s < run.run().sets(); ++s) {
      set_first_.push_back(chunks_.size());
      for (const ChunkIndex c : run.chunks(s)) {
        if (HashOf(c) <= threshold_) chunks_.push_back(c);
      }
    }
    set_first_.push_back(chunks_.size());
  }

  void Access(uint32_t set, LruCurve* curve) {
    for (size_t i = set_first_[set]; i < set_first_[set + 1]; ++i) {
      const ChunkIndex c = chunks_[i];
      const uint64_t hash = HashOf(c);
      if (hash > threshold_) continue;
      const uint32_t granules = Granules(run_, c);
      const double part_rate = rate() / kParts;
      const uint32_t distance = all_.Access(c, granules);
      // Which eighth must not go by the bits that decide whether it is sampled at all.
      const uint32_t part = Hash(hash) % kParts;
      const uint32_t in_part = parts_[part].Access(c, granules);
      if (distance == StackDistances::kFirst) {
        Hold(c, hash);
        continue;
      }
      Count(&curve->misses_, granules + (distance - granules) / rate(), 1 / rate());
      Count(&curve->parts_[part], granules + (in_part - granules) / part_rate, 1 / part_rate);
    }
  }
  void Free(ChunkIndex c) {
    const uint64_t hash = HashOf(c);
    if (hash > threshold_) return;
    all_.Free(c);
    parts_[Hash(hash) % kParts].Free(c);
    held_.erase({hash, c});
  }
  double rate() const { return std::ldexp(static_cast<double>(threshold_), -64); }

 private:
  uint64_t HashOf(ChunkIndex c) const { return Hash(c.value ^ Hash(options_.seed)); }
  void Hold(ChunkIndex c, uint64_t hash) {
    if (options_.most_chunks == 0) return;
    held_.insert({hash, c});
    while (held_.size() > options_.most_chunks) {
      const auto [last, gone] = *std::prev(held_.end());
      held_.erase(std::prev(held_.end()));
      threshold_ = last - 1;
      all_.Forget(gone);
      parts_[Hash(last) % kParts].Forget(gone);
    }
  }

  const ChunkedRun& run_;
  const SampleOptions options_;
  uint64_t threshold_;  // Hashes up to it are in the sample.
  StackDistances all_;
  std::vector<StackDistances> parts_;
  std::vector<size_t> set_first_;  // By set, and one more.
  std::vector<ChunkIndex> chunks_;
  std::set<std::pair<uint64_t, ChunkIndex>> held_;  // By hash.
};

LruCurve LruCurve::Sampled(const ChunkedRun& run, const SampleOptions& options) {
  VS_CHECK(options.rate > 0 && options.rate <= 1);
  LruCurve curve;
  curve.accesses_ = CountAccesses(run);
  curve.parts_.resize(kParts);
  Sample sample(run, options);
  Walk(
      run, [&](uint32_t set) { sample.Access(set, &curve); },
      [&](ChunkIndex c) { sample.Free(c); });
  curve.rate_ = sample.rate();
  SumUp(&curve.misses_);
  for (Counts& part : curve.parts_) SumUp(&part);
  if (!curve.sampled()) curve.parts_.clear();
  return curve;
}

double LruCurve::error(Bytes room) const {
  if (parts_.empty() || accesses_ == 0) return 0;
  double sum = 0;
  double squares = 0;
  for (const Counts& part : parts_) {
    const double ratio = At(part, room) / static_cast<double>(accesses_);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kParts;
  return std::sqrt(std::max(squares / kParts - mean * mean, 0.0) / (kParts - 1));
}

}  // namespace vramspan::replay
