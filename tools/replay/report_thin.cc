#include "tools/replay/report_thin.h"

#include <algorithm>
#include <cmath>

namespace vramspan::replay {
namespace {

using Point = ReportCurve::Point;

Point Mean(const std::vector<Point>& points, size_t begin, size_t end) {
  Point sum;
  for (size_t i = begin; i < end; ++i) {
    sum.memory += points[i].memory;
    sum.miss_ratio += points[i].miss_ratio;
  }
  const auto count = static_cast<double>(end - begin);
  return {.memory = sum.memory / count, .miss_ratio = sum.miss_ratio / count};
}

double Triangle(const Point& a, const Point& b, const Point& c) {
  return std::abs((a.memory - c.memory) * (b.miss_ratio - a.miss_ratio) -
                  (a.memory - b.memory) * (c.miss_ratio - a.miss_ratio));
}

std::vector<double> Join(const std::vector<double>& bins, size_t width, bool mean) {
  std::vector<double> joined;
  for (size_t begin = 0; begin < bins.size(); begin += width) {
    const size_t end = std::min(begin + width, bins.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += bins[i];
    joined.push_back(mean ? sum / static_cast<double>(end - begin) : sum);
  }
  return joined;
}

}  // namespace

std::vector<Point> ThinCurve(const std::vector<Point>& points, size_t most) {
  if (points.size() <= most) return points;
  const size_t buckets = most - 2;
  // The inner points' share of each bucket.
  const auto start = [&](size_t bucket) { return 1 + bucket * (points.size() - 2) / buckets; };
  std::vector<Point> kept = {points.front()};
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const bool last = bucket + 1 == buckets;
    const Point next = last ? points.back() : Mean(points, start(bucket + 1), start(bucket + 2));
    size_t best = start(bucket);
    for (size_t i = start(bucket); i < start(bucket + 1); ++i) {
      if (Triangle(kept.back(), points[i], next) > Triangle(kept.back(), points[best], next)) {
        best = i;
      }
    }
    kept.push_back(points[best]);
  }
  kept.push_back(points.back());
  return kept;
}

ReportTimeline ThinTimeline(const ReportTimeline& timeline, size_t most) {
  const size_t width = (timeline.bins + most - 1) / most;
  ReportTimeline thin{.bins = (timeline.bins + width - 1) / width,
                      .bin_ms = timeline.bin_ms * static_cast<double>(width),
                      .allocations = {},
                      .device_bytes = Join(timeline.device_bytes, width, true),
                      .fetches = Join(timeline.fetches, width, false),
                      .stall_ms = Join(timeline.stall_ms, width, false)};
  for (const auto& allocation : timeline.allocations) {
    thin.allocations.push_back(
        {allocation.name, allocation.bytes, Join(allocation.resident, width, true)});
  }
  return thin;
}

}  // namespace vramspan::replay
