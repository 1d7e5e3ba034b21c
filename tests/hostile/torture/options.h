// What the torture is told on its command line.
#ifndef VRAMSPAN_TESTS_HOSTILE_TORTURE_OPTIONS_H_
#define VRAMSPAN_TESTS_HOSTILE_TORTURE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace torture {

struct Options {
  uint64_t seed = 1;
  int threads = 4;
  uint64_t operations = 0;            // In all; 0: as many as `seconds` leave time for.
  double seconds = 10;                // 0, where there are operations: no bound.
  size_t bytes = size_t{160} << 20;   // Live data aimed at, over all threads.
  size_t largest = size_t{10} << 20;  // Of one allocation.
  bool slow = false;                  // Driver calls are slow at random (simulated driver).
  bool failing = false;               // One call in 10^4 fails (simulated driver).
  bool lax = false;                   // What the real driver does not bear, too: torture.cc.
  std::string beside;                 // Part of the name of a library that must be in the process.
  bool vmm = true, pools = true, graphs = true, forks = true, resets = true, exits = true;
};

// Ends the process with code 2 and a line where the command line is not understood.
Options ReadOptions(int argc, char** argv);

}  // namespace torture

#endif  // VRAMSPAN_TESTS_HOSTILE_TORTURE_OPTIONS_H_
