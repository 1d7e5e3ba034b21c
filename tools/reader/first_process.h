// The first process, whose children orphans become.
#ifndef VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_
#define VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_

#include <string>

#include "runtime/base/status.h"

namespace vramspan::reader {

inline constexpr char kFirstProcess[] = "/proc/1/comm", kFirstStatus[] = "/proc/1/status";

// Whether orphans that have ended are known to go there: it is an init or a shell by its name,
// which `comm` has, or `status` says that it ignores ends of children. FailedPrecondition: they are
// not, so a reader would stay as a zombie for as long as the container runs.
Status CheckFirstProcess(const std::string& comm = kFirstProcess,
                         const std::string& status = kFirstStatus);

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_FIRST_PROCESS_H_
