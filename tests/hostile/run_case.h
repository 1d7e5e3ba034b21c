// Starts a program of this folder as a user would, and collects what it says.
#ifndef VRAMSPAN_TESTS_HOSTILE_RUN_CASE_H_
#define VRAMSPAN_TESTS_HOSTILE_RUN_CASE_H_

#include <string>

#include "tests/hostile/cases.h"

namespace vramspan_test {

struct Said {
  int code = -1;  // As a shell gives it: 128 and the signal's number; 137 also after a minute.
  std::string out, err;
  std::string ours;  // Vramspan's own lines, which `err` is without.
};

// Without vramspan where `options` is null.
Said RunCase(const Case& c, const std::string* options);

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_HOSTILE_RUN_CASE_H_
