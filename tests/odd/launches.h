// Launches, each with what has to be stored before it.
#ifndef VRAMSPAN_TESTS_ODD_LAUNCHES_H_
#define VRAMSPAN_TESTS_ODD_LAUNCHES_H_

#include "tests/odd/tools.h"

namespace odd {

enum class Kind {
  kHonest,  // Pointers, plainly; the code may be proven.
  kFound,   // Forms that the runtime finds; the code may be proven.
  kListed,  // Forms of a list, in code that is not.
  kDrawn,   // Forms drawn at random, likewise.
  kCount,
};
const char* NameOfKind(Kind kind);

// `captured`: it is for a graph. `lasting`: the kernel takes some 100 us and more.
Bundle LaunchOfKind(Kind kind, bool captured, bool lasting, Tools* tools);

Bundle HonestLaunch(bool lasting, Tools* tools);
Bundle FoundLaunch(bool captured, bool lasting, Tools* tools);
// With the parameters that the last one had, more often than not.
Bundle TableLaunchOf(Tools* tools);
Bundle WalkLaunch(bool drawn, bool lasting, Tools* tools);

// Nanoseconds between some words and the next.
unsigned SomePause(bool lasting, Draw* draw);

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_LAUNCHES_H_
