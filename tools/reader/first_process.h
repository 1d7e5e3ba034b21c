// The first process, whose children orphans become.
#ifndef VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_
#define VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_

#include <string>

#include "runtime/base/status.h"

namespace vramspan::reader {

inline constexpr char kFirstProcess[] = "/proc/1/comm";

// Whether it is known to wait for them; `comm` has its name. FailedPrecondition: it is not, so a
// reader would stay as a zombie for as long as the container runs.
Status CheckFirstProcess(const std::string& comm = kFirstProcess);

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_
