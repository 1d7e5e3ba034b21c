// What recording costs: nanoseconds for each event on the thread that tells it, and bytes in the
// file. The program is a loop of 400 kernels with one to seven arrays each, whose activations come
// from an allocator that hands out other addresses in some passes; each launch is told with its
// times.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "runtime/base/log.h"
#include "runtime/trace/writer.h"

namespace vramspan::trace {
namespace {

std::vector<WorkEvent> Pass() {
  std::mt19937_64 random(1);
  std::vector<WorkEvent> works(400);
  for (uint32_t i = 0; i < works.size(); ++i) {
    works[i].code = static_cast<uint32_t>(random() % 60);
    for (uint64_t n = 1 + random() % 7; n > 0; --n) {
      works[i].ranges.push_back({DevicePtr(0x7f0000000000 + random() % 4096 * MiB(1).value),
                                 Bytes(random() % 64 * MiB(1).value), static_cast<uint16_t>(n)});
    }
  }
  return works;
}

void BM_Record(benchmark::State& state) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("trace_bench." + std::to_string(getpid()));
  std::vector<WorkEvent> pass = Pass();
  std::mt19937_64 random(2);
  uint64_t events = 0;
  uint64_t id = 0;
  {
    auto writer = Writer::Open({.path = path, .force = true}, {});
    VS_CHECK(writer.ok());
    for (auto _ : state) {
      const uint64_t moved = random() % 4 == 0 ? random() % 64 * MiB(1).value : 0;
      for (WorkEvent& work : pass) {
        if (moved != 0 && work.code % 3 == 0) work.ranges[0].ptr.value ^= moved;
        work.id = ++id;
        work.time = (*writer)->Now();
        (*writer)->Add(work);
        (*writer)->Add(
            TimesEvent{id, work.time + 5000 + random() % 4096, 20000 + random() % 2048, {}});
        events += 2;
      }
    }
    VS_CHECK((*writer)->Close().ok());
  }
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["bytes_per_event"] =
      static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(events);
  state.counters["ns_per_event"] =
      benchmark::Counter(static_cast<double>(events) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  std::filesystem::remove(path);
}
BENCHMARK(BM_Record)->MinTime(1.0);

}  // namespace
}  // namespace vramspan::trace
