// The process beside a running program that reads the code of its kernels, from its begin to its
// end.
#ifndef VRAMSPAN_TOOLS_READER_ANSWER_H_
#define VRAMSPAN_TOOLS_READER_ANSWER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::reader {

// Answers what is asked in `folder` until the program ends, or the folder is gone. Then the folder
// goes, and this process with all that it has started. Returns only where it cannot begin; then the
// folder is gone as well. InvalidArgument: it is none of this kind, and stays.
Status AnswerReadings(const std::string& folder, pid_t program, std::optional<uint64_t> start);

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_ANSWER_H_
