// How the demo's runtimes learn what its launches touch: traced where the process's launches can be
// seen, else declared by the program. Apart from the rest of the demo, which uses the public
// interface: the names of the two do not go together.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_LAUNCHES_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_LAUNCHES_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace vramspan::demo {

struct Launches {
  bool traced = false;
  std::string overlap;       // Of traced launches, as ParseOverlap takes it.
  std::string why_declared;  // Empty where they are traced.
};

// Starts the process's launch source unless --declare or VRAMSPAN_TRACER=off forbids it. Where it
// cannot be had launches are declared; an error where VRAMSPAN_TRACER insists on it. `overlap` may
// be empty.
StatusOr<Launches> ChooseLaunches(bool declare, const std::string& overlap,
                                  const std::shared_ptr<const Driver>& driver);

// InvalidArgument lists what there is.
Status CheckOverlap(const std::string& overlap);

// "traced by CUPTI, nothing is declared, overlap auto".
std::string LaunchesText(const Launches& launches);

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_LAUNCHES_H_
