// Runs the `vramspan` binary as a user would and collects what it says.
#ifndef VRAMSPAN_TESTS_TOOLS_RUN_BINARY_H_
#define VRAMSPAN_TESTS_TOOLS_RUN_BINARY_H_

#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/base/log.h"

namespace vramspan {

// A folder for the length of a test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vramspan-test-XXXXXX").string();
    VS_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Output {
  int code = -1;  // 128 + the signal for one that was killed.
  std::string out, err;
};

// `environment`: assignments before the command, as a shell takes them. `arguments` likewise.
inline Output RunBinary(const std::string& environment, const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out", err = folder.path() + "/err";
  const std::string command = "env " + environment + " '" VRAMSPAN_BINARY "' " + arguments + " >'" +
                              out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  Output result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadText(out);
  result.err = ReadText(err);
  return result;
}

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_TOOLS_RUN_BINARY_H_
