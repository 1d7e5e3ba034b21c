// Which driver a command runs on: the machine's, or the simulated one that comes with this binary.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_OPEN_DRIVER_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_OPEN_DRIVER_H_

#include <memory>
#include <string>

#include "runtime/driver/driver.h"

namespace vramspan {

// The library of the simulated driver: beside this binary as it was built or installed. NotFound
// says where it was looked for.
StatusOr<std::string> SimulatedDriver();

// The simulated driver, else Driver::Load's choice.
StatusOr<std::shared_ptr<const Driver>> OpenDriver(bool simulate);

// True for the simulated driver, however it was named. For words to the user only.
bool IsSimulated(const Driver& driver);

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_OPEN_DRIVER_H_
