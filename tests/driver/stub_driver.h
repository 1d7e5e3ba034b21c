// The stub driver from a test's side: paths of its variants, and its state. Link
// vramspan_stub_driver.
#ifndef VRAMSPAN_TESTS_DRIVER_STUB_DRIVER_H_
#define VRAMSPAN_TESTS_DRIVER_STUB_DRIVER_H_

#include <string>

#include "runtime/driver/driver.h"
#include "tests/driver/stub_state.h"

namespace vramspan {

inline const std::string kStubFolder = VRAMSPAN_STUB_FOLDER;
inline const std::string kStubDriver = kStubFolder + "/stub_driver.so";

// The state of a loaded stub. A stub is loaded once in a process: reset it in each test.
inline StubState& StateOf(const Driver& stub) {
  return *reinterpret_cast<StubState* (*)()>(stub.Symbol("stub_state"))();
}

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_DRIVER_STUB_DRIVER_H_
