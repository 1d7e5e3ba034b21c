// Which program a command line runs: its file without the folder, and of an interpreter its script.
#ifndef VRAMSPAN_TOOLS_REPLAY_PROGRAM_NAME_H_
#define VRAMSPAN_TOOLS_REPLAY_PROGRAM_NAME_H_

#include <string>
#include <string_view>

namespace vramspan::replay {

struct ProgramName {
  std::string file;  // "python" of /usr/bin/python3.11, "train" of ./train.
  std::string
      script;  // "train.py" of python3 -u src/train.py, "pkg.train" of python3 -m pkg.train;
               // empty of what is no interpreter, and of code on its command line.

  // For people.
  const std::string& text() const { return script.empty() ? file : script; }
};

// `command`: words with one space between them, as the header of a trace has it.
ProgramName NameOfProgram(std::string_view command);

// Arguments change from run to run, interpreters from machine to machine, and a script may be
// started by itself.
bool SameProgram(const ProgramName& a, const ProgramName& b);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PROGRAM_NAME_H_
