// Starts the test program as a user would, with and without the preload, and collects what it says.
#ifndef VRAMSPAN_TESTS_PRELOAD_RUN_PROGRAM_H_
#define VRAMSPAN_TESTS_PRELOAD_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace vramspan_test {

struct Output {
  int code = -1;  // 128 + the signal for one that was killed.
  std::string out, err;
};

// `environment`: assignments as a shell takes them. The simulated driver is on the loader's path
// and has 48 MiB, unless they say otherwise. The routes "linked" and "default" run the program that
// the loader binds to the driver.
Output RunPlain(const std::string& route, const std::string& scenario,
                const std::string& environment = "");
Output RunPreloaded(const std::string& route, const std::string& scenario,
                    const std::string& environment = "");
// With these libraries in LD_PRELOAD, in order: paths, kPreload for ours.
extern const char kPreload[];
Output RunWith(const std::vector<std::string>& libraries, const std::string& route,
               const std::string& scenario, const std::string& environment = "");

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_PRELOAD_RUN_PROGRAM_H_
