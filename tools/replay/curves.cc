#include "tools/replay/curves.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/base/mutex.h"
#include "tools/replay/cache_model.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/lru_curve.h"

namespace vramspan::replay {
namespace {

struct Peaks {
  Bytes packed, chunks;
};

Peaks FindPeaks(const ChunkedRun& run) {
  Peaks now, peak;
  for (const RecordedStep& step : run.run().steps) {
    if (step.kind == RecordedStep::Kind::kWork) continue;
    Bytes packed, chunks;
    if (run.count(step.index) == 0) packed = run.run().allocations[step.index].size;
    for (uint32_t i = 0; i < run.count(step.index); ++i) {
      chunks += run.size(ChunkIndex(run.first(step.index).value + i));
    }
    if (step.kind == RecordedStep::Kind::kFree) {
      now.packed -= packed;
      now.chunks -= chunks;
      continue;
    }
    now.packed += packed;
    now.chunks += chunks;
    peak.packed = std::max(peak.packed, now.packed);
    peak.chunks = std::max(peak.chunks, now.chunks);
  }
  return peak;
}

// By size, in device memory that has room for all.
ChunkedRun Cut(const RecordedRun& run, int chunk_log2) {
  return ChunkedRun(&run, chunk_log2, run.PeakBytes());
}

// A run at one chunk size, and what all its curves share.
struct Case {
  Case(const RecordedRun& recorded, int log2) : run(Cut(recorded, log2)), chunk_log2(log2) {}

  Bytes Room(Bytes device_memory) const {
    return device_memory > peaks.packed ? device_memory - peaks.packed : Bytes();
  }

  ChunkedRun run;
  int chunk_log2;
  Peaks peaks;
  Bytes distinct;
  uint64_t accesses = 0;
  std::vector<Bytes> sizes;  // Of device memory.
};

std::unique_ptr<Case> MakeCase(const RecordedRun& run, int chunk_log2,
                               const CurveOptions& options) {
  auto made = std::make_unique<Case>(run, chunk_log2);
  made->peaks = FindPeaks(made->run);
  made->accesses = CountAccesses(made->run);
  std::vector<bool> named(made->run.end(), false);
  for (const RecordedWork& work : run.works) {
    for (const ChunkIndex c : made->run.chunks(work.set)) named[c.value] = true;
  }
  Bytes largest;
  for (uint32_t c = 1; c < made->run.end(); ++c) {
    largest = std::max(largest, made->run.size(ChunkIndex(c)));
    if (named[c]) made->distinct += made->run.size(ChunkIndex(c));
  }
  made->sizes = options.device_memory;
  if (made->sizes.empty() && largest > Bytes()) {
    const uint64_t span = (made->peaks.chunks - largest) / kGranularity;
    const uint32_t steps = std::max(options.points, 2u) - 1;
    for (uint32_t i = 0; i <= steps; ++i) {
      made->sizes.push_back(made->peaks.packed + largest + kGranularity * (span * i / steps));
    }
  }
  std::sort(made->sizes.begin(), made->sizes.end());
  made->sizes.erase(std::unique(made->sizes.begin(), made->sizes.end()), made->sizes.end());
  return made;
}

void SetPoint(const Case& of, double misses, CurvePoint* point) {
  point->misses = misses;
  point->miss_ratio = of.accesses == 0 ? 0 : misses / static_cast<double>(of.accesses);
}

void FillLru(const Case& of, const CurveOptions& options, Curve* curve) {
  const LruCurve lru =
      of.accesses <= options.most_exact
          ? LruCurve::Exact(of.run)
          : LruCurve::Sampled(of.run, {.most_chunks = std::max(options.sampled_chunks, 8u)});
  curve->sampled = lru.sampled();
  for (CurvePoint& point : curve->points) {
    const Bytes room = of.Room(point.device_memory);
    SetPoint(of, lru.misses(room), &point);
    curve->error += lru.error(room) / static_cast<double>(curve->points.size());
  }
}

// A piece of the work, whose result has its own place.
struct Task {
  const Case* of;
  Curve* curve;
  CurvePoint* point;  // Null: the whole of LRU's.
};

Status RunTask(const Task& task, const CurveOptions& options) {
  if (task.point == nullptr) {
    FillLru(*task.of, options, task.curve);
    return absl::OkStatus();
  }
  VS_ASSIGN_OR_RETURN(const CacheCounts counts, RunCache(task.of->run, task.curve->policy,
                                                         task.of->Room(task.point->device_memory)));
  SetPoint(*task.of, static_cast<double>(counts.misses), task.point);
  return absl::OkStatus();
}

Status RunTasks(const std::vector<Task>& tasks, const CurveOptions& options) {
  std::atomic<size_t> next{0};
  Mutex mu;
  size_t done = 0;
  std::vector<Status> results(tasks.size());
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) {
      results[i] = RunTask(tasks[i], options);
      const MutexLock lock(mu);
      ++done;
      if (options.progress) {
        options.progress(static_cast<double>(done) / static_cast<double>(tasks.size()));
      }
    }
  };
  const size_t cores =
      options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1u);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(cores, tasks.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) VS_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

Status CheckOptions(const CurveOptions& options) {
  for (const int log2 : options.chunk_log2) {
    if (log2 != 0 && (log2 < kMinChunkLog2 || log2 > kMaxChunkLog2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("no chunk has 2^", log2, " bytes; use 2^21 (2 MiB) to 2^26 (64 MiB)"));
    }
  }
  for (const std::string& policy : options.policies) {
    if (policy == "min") continue;
    VS_RETURN_IF_ERROR(MakePolicy(policy).status());
  }
  return absl::OkStatus();
}

}  // namespace

Bytes MemoryForAll(const RecordedRun& run, int chunk_log2) {
  const Peaks peaks = FindPeaks(Cut(run, chunk_log2));
  return peaks.packed + peaks.chunks;
}

StatusOr<std::vector<Curve>> MakeCurves(const RecordedRun& run, const CurveOptions& options) {
  VS_RETURN_IF_ERROR(CheckOptions(options));
  std::vector<std::string> policies = options.policies;
  if (policies.empty()) {
    for (const std::string_view name : CachePolicyNames()) policies.emplace_back(name);
  }
  std::vector<std::unique_ptr<Case>> cases;
  std::vector<Curve> curves;
  for (const int log2 : options.chunk_log2) {
    cases.push_back(MakeCase(run, log2, options));
    for (const std::string& policy : policies) {
      Curve curve{.trace = options.trace, .policy = policy, .chunk_log2 = log2, .points = {}};
      curve.accesses = cases.back()->accesses;
      curve.distinct = cases.back()->distinct;
      for (const Bytes size : cases.back()->sizes) curve.points.push_back({.device_memory = size});
      curves.push_back(std::move(curve));
    }
  }
  std::vector<Task> tasks;
  for (size_t i = 0; i < curves.size(); ++i) {
    const Case* of = cases[i / policies.size()].get();
    if (curves[i].policy == "lru") {
      tasks.push_back({of, &curves[i], nullptr});
      continue;
    }
    for (CurvePoint& point : curves[i].points) tasks.push_back({of, &curves[i], &point});
  }
  VS_RETURN_IF_ERROR(RunTasks(tasks, options));
  return curves;
}

}  // namespace vramspan::replay
