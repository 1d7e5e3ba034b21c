#include "tests/hostile/run_case.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace vramspan_test {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A summary is a first line of vramspan's and indented ones behind it.
std::string WithoutOurLines(const std::string& text, std::string* ours) {
  std::istringstream lines(text);
  std::string rest, line;
  bool summary = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("vramspan")) {
      summary = line.starts_with("vramspan: process ");
      *ours += line + "\n";
    } else if (!summary || !line.starts_with("  ")) {
      summary = false;
      rest += line + "\n";
    }
  }
  return rest;
}

std::string WithFolder(std::string text, const std::string& folder) {
  for (size_t at; (at = text.find("%d")) != std::string::npos;) text.replace(at, 2, folder);
  return text;
}

}  // namespace

Said RunCase(const Case& c, const std::string* options) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "vramspan-hostile-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  const std::string program = "'" HOSTILE_PROGRAMS "' " + c.program;
  // As a user's shell is: without what these tests are given. What a program prints of a
  // sanitizer's when it is killed has addresses, and no shell says in both runs what killed its
  // child.
  const std::string command =
      "unset VRAMSPAN_DRIVER VRAMSPAN_TRACER; ulimit -c 0; export LD_LIBRARY_PATH='" SIMCUDA_FOLDER
      "' SIMCUDA_DEVICE_MEMORY=256MiB ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:"
      "handle_segv=0:handle_abort=0 TSAN_OPTIONS=handle_segv=0:handle_abort=0; " +
      c.setting + " exec timeout -s KILL 60 " +
      (options == nullptr ? program : "'" VRAMSPAN_BINARY "' run " + *options + " -- " + program) +
      " >'" + folder + "/out' 2>'" + folder + "/err'";
  const int status = std::system(WithFolder(command, folder).c_str());
  Said said;
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  said.out = ReadText(folder + "/out");
  said.err = WithoutOurLines(ReadText(folder + "/err"), &said.ours);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return said;
}

}  // namespace vramspan_test
