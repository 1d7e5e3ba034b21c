// A shared object that is no kernel image, and would show if any of its code ran.

#include <cstdlib>

namespace {

__attribute__((constructor)) void LeaveTrace() { setenv("SIMCUDA_TEST_FOREIGN_CODE_RAN", "1", 1); }

}  // namespace
