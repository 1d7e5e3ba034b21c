// What the files of a run have in common, a trace and a file of events: whose they are, what they
// are called where the name is taken, and that they end with the process.
#ifndef VRAMSPAN_RUNTIME_API_RECORD_FILE_H_
#define VRAMSPAN_RUNTIME_API_RECORD_FILE_H_

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <string>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace vramspan {

// Whether a file may say with which words the program was started: VRAMSPAN_NO_COMMAND_LINE.
StatusOr<bool> TellsCommandLine();
// The program with its words; where VRAMSPAN_NO_COMMAND_LINE says so, its name alone. What is
// secret in it is not for a file that is passed on.
StatusOr<std::string> RecordedCommandLine();

// Opens the path, or one beside it where a file is there already: a program may start others, which
// are told the same path.
template <typename Open>
auto OpenOrBeside(const std::string& path, Open open) {
  auto file = open(path);
  for (int i = 0; i < 8 && absl::IsAlreadyExists(file.status()); ++i) {
    const std::string other = absl::StrCat(path, ".", getpid(), i == 0 ? "" : absl::StrCat(".", i));
    file = open(other);
    if (file.ok()) {
      Log(LogLevel::kWarning,
          absl::StrCat(CleanText(path), " exists already, so this process is recorded in ",
                       CleanText(other)));
    }
  }
  return file;
}

// Is finished when the process ends, where nobody has destroyed it before.
class EndsWithProcess {
 public:
  EndsWithProcess() = default;
  EndsWithProcess(const EndsWithProcess&) = delete;
  EndsWithProcess& operator=(const EndsWithProcess&) = delete;

 protected:
  ~EndsWithProcess() = default;
  // From here on; and no longer. Of any thread.
  void Lives();
  void LivesNoMore();

 private:
  static void FinishAll();
  virtual void Finish() = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_RECORD_FILE_H_
