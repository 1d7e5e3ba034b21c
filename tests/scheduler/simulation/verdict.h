// The first invariant that was found broken.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_VERDICT_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_VERDICT_H_

#include <cstdarg>
#include <cstdio>
#include <string>

namespace vramspan::simulation {

class Verdict {
 public:
  bool ok() const { return what_.empty(); }
  const std::string& what() const { return what_; }

  // The first counts.
  void Fail(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    if (!ok()) return;
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    what_ = text;
  }

 private:
  std::string what_;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_VERDICT_H_
