// What `vramspan run` is to start, as its file says.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_PROGRAM_FILE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_PROGRAM_FILE_H_

#include <optional>
#include <string>

namespace vramspan::run {

// The file that execvp runs, by PATH where `program` names no folder. None where there is none that
// can be run.
std::optional<std::string> FindProgram(const std::string& program);

// Why execvp failed with `error`, and what to do: what stands behind the program's name in a
// message.
std::string WhyNotRun(const std::string& program, int error);

struct Reach {
  // Why the loader puts no preloaded library into the program, as the end of "since it ...". Empty
  // where it does, and where that is not known.
  std::string why_not;
  // Its children inherit the preload all the same.
  bool children = true;
  // The loader would complain of the preload, and so may that of the children.
  bool complains = false;
};

// Goes through scripts to what runs them, and through env.
Reach ReachOf(const std::string& program);

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_PROGRAM_FILE_H_
