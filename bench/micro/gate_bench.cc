// What the gate costs. Target: at most 20 ns to enter and leave, whatever the number of threads (up
// to the cores there are: beyond, the scheduler is measured).
#include <benchmark/benchmark.h>

#include <chrono>

#include "runtime/mover/gate.h"

namespace {

vramspan::Gate gate;

// What every launch pays.
void EnterExit(benchmark::State& state) {
  for (auto _ : state) {
    gate.Enter();
    benchmark::ClobberMemory();
    gate.Exit();
  }
}
BENCHMARK(EnterExit)->ThreadRange(1, 16)->UseRealTime();

// What the mover pays where nobody is inside: a look at every thread's slot.
void CloseOpen(benchmark::State& state) {
  for (auto _ : state) {
    if (!gate.Close(std::chrono::milliseconds(1))) {
      state.SkipWithError("the gate did not close");
      break;
    }
    gate.Open();
  }
}
BENCHMARK(CloseOpen);

// The same beside threads that pass all the time. Passing is counted, since those threads wait
// while the gate is closed.
void EnterExitUnderClosing(benchmark::State& state) {
  if (state.thread_index() != 0) {
    for (auto _ : state) {
      gate.Enter();
      benchmark::ClobberMemory();
      gate.Exit();
    }
    return;
  }
  int64_t refused = 0;
  for (auto _ : state) {
    if (gate.Close(std::chrono::milliseconds(1))) {
      gate.Open();
    } else {
      ++refused;
    }
  }
  state.counters["refused"] = static_cast<double>(refused);
}
BENCHMARK(EnterExitUnderClosing)->Threads(2)->UseRealTime();

}  // namespace
