// What it costs to hold a launch and to let it go where nothing has to be copied for it: on the
// launching thread, and on the GPU's side from the flag to the end of an empty kernel. Beside it
// the same launch plain, and declared while memory suffices.
//
//   hold_bench [--repetitions 200] [--format table|json]
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/workloads/arguments.h"
#include "bench/workloads/machine.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(hold_kernels);

namespace vramspan::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kChunk = size_t{2} << 20;
// What a closed wait lets queue up behind it is bounded, and a held launch is three entries.
constexpr int kHeld = 200;

double Us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

struct Results {
  // The launching thread, microseconds a launch.
  double plain_launch = 0, declared_launch = 0, held_launch = 0;
  // The GPU's side: from the launch call, or from the flag, to the end of the kernel.
  double plain_end = 0, flag_end = 0;
  // A chain of launches on the device, microseconds for each.
  double plain_chain = 0, held_chain = 0;
};

class Bench {
 public:
  explicit Bench(Machine& machine)
      : machine_(machine), stream_(machine.MakeStream()), event_(machine.MakeEvent(false)) {
    const CUmodule module = machine.LoadModule(hold_kernels_images());
    nothing_ = machine.Function(module, "nothing");
    wait_for_host_ = machine.Function(module, "wait_for_host");
    flag_ = static_cast<volatile uint32_t*>(machine.AllocateHost(sizeof(uint32_t)));
    // Loads both: the first launch of a kernel may wait for what runs.
    *flag_ = 1;
    Spin(stream_);
    Launch(stream_);
    machine.Synchronize(stream_);
  }

  Results Run(int repetitions) {
    Results r;
    MeasureEnds(repetitions, &r);
    MeasureSubmission(repetitions, &r);
    MeasureHeld(&r);
    return r;
  }

 private:
  void Launch(CUstream stream) const { machine_.Launch(nothing_, 1, 32, stream, {}); }

  void Spin(CUstream stream) const {
    CUdeviceptr address = 0;
    machine_.Check(
        machine_.api().MemHostGetDevicePointer(&address, const_cast<uint32_t*>(flag_), 0),
        "cuMemHostGetDevicePointer");
    machine_.Launch(wait_for_host_, 1, 1, stream, {&address});
  }

  void WaitForEvent() const {
    CUresult result;
    do {
      result = machine_.api().EventQuery(event_);
    } while (result == CUDA_ERROR_NOT_READY);
    machine_.Check(result, "cuEventQuery");
  }

  // One at a time, on an idle device, with the calls that the mover makes.
  void MeasureEnds(int repetitions, Results* r) {
    const DriverApi& cu = machine_.api();
    auto* hold = static_cast<std::atomic<uint32_t>*>(machine_.AllocateHost(sizeof(uint32_t)));
    hold->store(0);
    CUdeviceptr hold_address = 0;
    machine_.Check(cu.MemHostGetDevicePointer(&hold_address, hold, 0), "cuMemHostGetDevicePointer");
    std::vector<double> plain, held;
    for (int i = 0; i < repetitions; ++i) {
      auto start = Clock::now();
      Launch(stream_);
      machine_.Check(cu.EventRecord(event_, stream_), "cuEventRecord");
      WaitForEvent();
      plain.push_back(Us(Clock::now() - start));

      const uint32_t value = static_cast<uint32_t>(i) + 1;
      machine_.Check(cu.StreamWaitValue32(stream_, hold_address, value, CU_STREAM_WAIT_VALUE_GEQ),
                     "cuStreamWaitValue32");
      Launch(stream_);
      machine_.Check(cu.EventRecord(event_, stream_), "cuEventRecord");
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // The GPU reaches the wait.
      start = Clock::now();
      hold->store(value, std::memory_order_release);
      WaitForEvent();
      held.push_back(Us(Clock::now() - start));
    }
    r->plain_end = Median(plain);
    r->flag_end = Median(held);
  }

  // Plain, and declared while memory suffices.
  void MeasureSubmission(int repetitions, Results* r) {
    const Runtime runtime = MakeRuntime(machine_, 0, "2MiB");
    const Buffer<uint8_t> memory = runtime.alloc<uint8_t>(kChunk);
    std::vector<double> plain, declared;
    for (int i = 0; i < repetitions; ++i) {
      auto start = Clock::now();
      Launch(stream_);
      plain.push_back(Us(Clock::now() - start));
      start = Clock::now();
      runtime.submit(stream_, {readwrite(memory)}, [&] { Launch(stream_); });
      declared.push_back(Us(Clock::now() - start));
      if (i % 64 == 63) machine_.Synchronize(stream_);
    }
    machine_.Synchronize(stream_);
    runtime.stream_forget(stream_);
    r->plain_launch = Median(plain);
    r->declared_launch = Median(declared);
  }

  // A kernel waits for the host and keeps in use all that the budget has room for. Work that needs
  // another chunk is held for as long, and what comes behind it waits for its turn, though all of
  // its own memory is in place.
  void MeasureHeld(Results* r) {
    constexpr size_t kRoom = 4;
    const Runtime runtime({.driver = machine_.driver()->path(),
                           .device_memory = std::to_string(kRoom * kChunk),
                           .chunk = "2MiB",
                           .deadline = std::chrono::seconds(30),
                           .quiet = true});
    const Buffer<uint8_t> here = runtime.alloc<uint8_t>(kRoom * kChunk);
    const Buffer<uint8_t> there = runtime.alloc<uint8_t>(kChunk);
    const CUstream spinning = machine_.MakeStream();
    const CUstream blocked = machine_.MakeStream();
    const CUevent first = machine_.MakeEvent(true);
    const CUevent last = machine_.MakeEvent(true);
    // Known to be used by nobody from here on: free to move.
    runtime.submit(stream_, {readwrite(here), readwrite(there)}, [&] { Launch(stream_); });
    runtime.synchronize();
    runtime.prefetch(here, Location::device, stream_);
    runtime.synchronize();

    *flag_ = 0;
    std::vector<double> held;
    Statistics before = {};
    Statistics after = {};
    try {
      runtime.submit(spinning, {readwrite(here)}, [&] { Spin(spinning); });
      runtime.submit(blocked, {readwrite(there)}, [&] { Launch(blocked); });
      before = runtime.statistics();
      for (int i = 0; i < kHeld; ++i) {
        const auto start = Clock::now();
        runtime.submit(stream_, {readwrite(here)}, [&] { Launch(stream_); });
        held.push_back(Us(Clock::now() - start));
        if (i == 0) machine_.Check(machine_.api().EventRecord(first, stream_), "cuEventRecord");
      }
      machine_.Check(machine_.api().EventRecord(last, stream_), "cuEventRecord");
      after = runtime.statistics();
    } catch (...) {
      *flag_ = 1;
      throw;
    }
    *flag_ = 1;
    machine_.Synchronize(stream_);
    runtime.synchronize();
    if (after.works_held - before.works_held != kHeld) {
      throw std::runtime_error("only " + std::to_string(after.works_held - before.works_held) +
                               " of " + std::to_string(kHeld) +
                               " launches were held: this measures nothing");
    }
    r->held_launch = Median(held);
    r->held_chain = 1e6 * machine_.Seconds(first, last) / (kHeld - 1);

    // The same chain plain, behind a kernel that waits until all of it is queued.
    *flag_ = 0;
    Spin(stream_);
    Launch(stream_);
    machine_.Check(machine_.api().EventRecord(first, stream_), "cuEventRecord");
    for (int i = 1; i < kHeld; ++i) Launch(stream_);
    machine_.Check(machine_.api().EventRecord(last, stream_), "cuEventRecord");
    *flag_ = 1;
    machine_.Synchronize(stream_);
    r->plain_chain = 1e6 * machine_.Seconds(first, last) / (kHeld - 1);
  }

  Machine& machine_;
  const CUstream stream_;
  const CUevent event_;
  CUfunction nothing_ = nullptr;
  CUfunction wait_for_host_ = nullptr;
  volatile uint32_t* flag_ = nullptr;
};

int Main(int argc, char** argv) {
  CLI::App app("What it costs to hold a launch.");
  int repetitions = 200;
  std::string format = "table";
  app.add_option("--repetitions", repetitions)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--format", format)
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  return RunMain("hold_bench", [&] {
    Machine machine;
    const Results r = Bench(machine).Run(repetitions);
    if (format == "json") {
      const nlohmann::ordered_json json = {
          {"schema", "vramspan.bench.hold"},
          {"schema_version", "1.0.0"},
          {"machine", machine.name()},
          {"repetitions", repetitions},
          {"thread_us",
           {{"plain", r.plain_launch}, {"declared", r.declared_launch}, {"held", r.held_launch}}},
          {"launch_to_end_us", r.plain_end},
          {"flag_to_end_us", r.flag_end},
          {"chain_us", {{"plain", r.plain_chain}, {"held", r.held_chain}}}};
      std::printf("%s\n", json.dump(2).c_str());
      return 0;
    }
    std::printf("%s: microseconds a launch of an empty kernel, medians\n\n",
                machine.name().c_str());
    std::printf("%-44s %8s %9s %8s\n", "", "plain", "declared", "held");
    std::printf("%-44s %8.2f %9.2f %8.2f\n", "launching thread", r.plain_launch, r.declared_launch,
                r.held_launch);
    std::printf("%-44s %8.2f %9s %8.2f\n", "GPU, launch or flag to the kernel's end", r.plain_end,
                "", r.flag_end);
    std::printf("%-44s %8.2f %9s %8.2f\n", "GPU, each of a chain", r.plain_chain, "", r.held_chain);
    std::printf("\nholding adds %.2f us on the launching thread\n", r.held_launch - r.plain_launch);
    return 0;
  });
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) { return vramspan::bench::Main(argc, argv); }
