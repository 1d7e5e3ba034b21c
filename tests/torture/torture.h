// A random program against a runtime, checked throughout: threads that allocate, free, write, run
// kernels, copy, set, launch graphs, advise, prefetch, pin and change budgets, over several streams
// each, with more data than the device budget holds. What every word must be is known from a few
// numbers per cell, so that any byte can be checked at any time.
//
// The sequence of operations depends on the seed alone; what overlaps what does not.
#ifndef VRAMSPAN_TESTS_TORTURE_TORTURE_H_
#define VRAMSPAN_TESTS_TORTURE_TORTURE_H_

#include <cstdint>
#include <string>

namespace vramspan_test {

struct TortureOptions {
  uint64_t seed = 1;
  int threads = 4;
  uint64_t operations = 10000;  // In all, or what `seconds` leave time for; 0: as many as that.
  double seconds = 0;           // 0, where there are operations: no bound.
  std::string device_memory = "48MiB";
  uint64_t data_bytes = uint64_t{160} << 20;  // Live data aimed at, over all threads.
  std::string policy = "lru";
  std::string chunk = "auto";
  uint32_t flags = 0;
  // With "off" or "safe" nothing is declared: launches are traced, and overlap so. Pointers go into
  // the middle of arrays at random, so what "all" trusts in does not hold.
  std::string traced = {};
  bool capture = false;  // Some work is captured, and launched as a graph.
  bool progress = false;
};

struct TortureResult {
  uint64_t operations = 0;
  uint64_t checked_cells = 0;
  uint64_t fetches = 0, evictions = 0, deadlines = 0, works_held = 0, works = 0;
  std::string failure;  // Empty when everything was right.
};

// Runs the program on the driver that VRAMSPAN_DRIVER names (or the machine's).
TortureResult RunTorture(const TortureOptions& options);

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_TORTURE_TORTURE_H_
