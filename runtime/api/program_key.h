// By what a program and what it runs on are known again in a later run (docs/learned.md): the
// executable, its script, the shape of its arguments, the device, the driver, and vramspan itself.
//
// Pure but for OwnProgram and PathOfFile. Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_PROGRAM_KEY_H_
#define VRAMSPAN_RUNTIME_API_PROGRAM_KEY_H_

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramspan {

struct RunningProgram {
  std::string executable;                // Its path,
  uint64_t size = 0;                     // and which build of it:
  int64_t seconds = 0, nanoseconds = 0;  // when the file was changed.
  std::vector<std::string> arguments;    // Without the program's own name.
  bool name_alone = false;               // Its words are not to be told.
};

struct RunningOn {
  std::string device;
  int ordinal = 0;
  int driver = 0;
};

struct ProgramKey {
  uint64_t hash = 0;
  std::string program, device;  // In words.
};

// What stays of the arguments. An option stays up to its equals sign. The first other word that
// names a file stays (`path_of` says which) unless it is right behind an option, whose value it may
// be; of python the module of -m or, but for its digits, the code of -c: that is the script. All
// others are "_", for values change from run to run.
struct ArgumentShape {
  std::vector<std::string> counts;
  // The same for people: no code, and of options by one dash the first letter.
  std::vector<std::string> shown;
};
ArgumentShape ShapeOf(const RunningProgram& program,
                      absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of);

ProgramKey KeyOf(const RunningProgram& program, const RunningOn& on,
                 absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of);

// This process; as much of it as can be found out.
RunningProgram OwnProgram();
// The whole path of a regular file; none for anything else.
std::optional<std::string> PathOfFile(const std::string& name);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_PROGRAM_KEY_H_
