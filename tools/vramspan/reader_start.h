// The reader beside a program that `vramspan run` starts: a process that reads the code of its
// kernels as they are launched (docs/trust.md).
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_READER_START_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_READER_START_H_

#include <functional>
#include <memory>

#include "tools/reader/meeting.h"
#include "tools/vramspan/run_plan.h"

namespace vramspan::run {

inline constexpr char kReadVariable[] = "VRAMSPAN_READ", kReaderVariable[] = "VRAMSPAN_READER";
// The command that is the reader.
inline constexpr char kReaderCommand[] = "answer-readings";

// Whether code that is read would change what moves in a program that starts so. `variable` is
// getenv. REQUIRES: the plan was made of such an environment.
bool ReadingMatters(const Plan& plan, const std::function<const char*(const char*)>& variable);

// Whether the user said that code is to be read, and did not leave it to us.
bool ReadingIsWanted(const Plan& plan, const std::function<const char*(const char*)>& variable);

// Starts the reader of this process, whatever it becomes by exec. What is returned is the folder in
// which it answers, for kReaderVariable. The reader removes it with this process's end. Null: there
// is none, and a line at level info says why.
//
// It is no child of this process, and has nothing of it: neither descriptors nor signals, nor the
// variables of vramspan. So its end is the first process's to see: unless it is `wanted`, there is
// none where that may leave it a zombie.
std::unique_ptr<reader::Meeting> StartReader(bool wanted);

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_READER_START_H_
