// What malloc and free cost beside cuMemAlloc and cuMemFree in the same run: 64 MiB and 256 bytes,
// a pair at a time and 64 at a time.
//
//   malloc_bench [--repetitions 200] [--format table|json]
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workloads/arguments.h"
#include "bench/workloads/machine.h"

namespace vramspan::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Row {
  size_t bytes;
  size_t batch;
  double driver_us;  // A pair, medians.
  double vramspan_us;
  double target;

  double ratio() const { return vramspan_us / driver_us; }
};

// Microseconds of a malloc and its free, `batch` of them made before the first is freed.
template <typename Malloc, typename Free>
double PairUs(std::vector<CUdeviceptr>& ptrs, Malloc allocate, Free release) {
  const auto start = Clock::now();
  for (CUdeviceptr& ptr : ptrs) allocate(&ptr);
  for (const CUdeviceptr ptr : ptrs) release(ptr);
  const std::chrono::duration<double, std::micro> time = Clock::now() - start;
  return time.count() / static_cast<double>(ptrs.size());
}

Row Measure(const Machine& machine, const Runtime& runtime, size_t bytes, size_t batch,
            double target, int repetitions) {
  const DriverApi& cu = machine.api();
  std::vector<CUdeviceptr> ptrs(batch);
  std::vector<double> driver, ours;
  // In turn, so that both meet the same machine. The first rounds warm up.
  for (int i = -5; i < repetitions; ++i) {
    const double d = PairUs(
        ptrs, [&](CUdeviceptr* ptr) { machine.Check(cu.MemAlloc(ptr, bytes), "cuMemAlloc"); },
        [&](CUdeviceptr ptr) { machine.Check(cu.MemFree(ptr), "cuMemFree"); });
    const double o = PairUs(
        ptrs, [&](CUdeviceptr* ptr) { check(vramspanMemAlloc(runtime.get(), ptr, bytes)); },
        [&](CUdeviceptr ptr) { check(vramspanMemFree(runtime.get(), ptr)); });
    if (i < 0) continue;
    driver.push_back(d);
    ours.push_back(o);
  }
  return {bytes, batch, Median(driver), Median(ours), target};
}

int Main(int argc, char** argv) {
  CLI::App app("malloc and free against cuMemAlloc and cuMemFree.");
  int repetitions = 200;
  std::string format = "table";
  app.add_option("--repetitions", repetitions)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--format", format)
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  return RunMain("malloc_bench", [&] {
    Machine machine;
    const Runtime runtime = MakeRuntime(machine, 0, "auto");
    // What is being measured is the device's memory: batches stay within half of it.
    const size_t most = runtime.statistics().device_budget / 2;
    constexpr size_t kLarge = size_t{64} << 20;
    std::vector<Row> rows;
    for (const size_t batch :
         {size_t{1}, std::min<size_t>(64, std::max<size_t>(2, most / kLarge))}) {
      rows.push_back(Measure(machine, runtime, kLarge, batch, 1.2, repetitions));
    }
    for (const size_t batch : {1, 64}) {
      rows.push_back(Measure(machine, runtime, 256, batch, 0.1, repetitions));
    }
    if (format == "json") {
      nlohmann::ordered_json json = {{"schema", "vramspan.bench.malloc"},
                                     {"schema_version", "1.0.0"},
                                     {"machine", machine.name()},
                                     {"repetitions", repetitions},
                                     {"rows", nlohmann::ordered_json::array()}};
      for (const Row& r : rows) {
        json["rows"].push_back({{"bytes", r.bytes},
                                {"batch", r.batch},
                                {"driver_us", r.driver_us},
                                {"vramspan_us", r.vramspan_us},
                                {"ratio", r.ratio()},
                                {"target", r.target}});
      }
      std::printf("%s\n", json.dump(2).c_str());
      return 0;
    }
    std::printf("%s: microseconds for a malloc and its free, medians of %d\n\n",
                machine.name().c_str(), repetitions);
    std::printf("%10s %10s %12s %12s %8s %8s\n", "bytes", "at a time", "cuMemAlloc", "vramspan",
                "ratio", "target");
    for (const Row& r : rows) {
      std::printf("%10zu %10zu %12.2f %12.2f %8.3f %8.1f\n", r.bytes, r.batch, r.driver_us,
                  r.vramspan_us, r.ratio(), r.target);
    }
    return 0;
  });
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) { return vramspan::bench::Main(argc, argv); }
