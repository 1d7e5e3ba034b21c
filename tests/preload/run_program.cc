#include "tests/preload/run_program.h"

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

// The loader takes spaces and colons for separators and knows no way to quote them, so a library is
// reached by a link to its folder, whatever the folder that this was built in is called.
std::string ByLink(const std::string& library, const std::string& link) {
  const std::filesystem::path path(library);
  std::filesystem::create_directory_symlink(path.parent_path(), link);
  return link + "/" + path.filename().string();
}

}  // namespace

const char kPreload[] = PRELOAD_LIBRARY;

Output RunWith(const std::vector<std::string>& libraries, const std::string& route,
               const std::string& scenario, const std::string& environment) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "vramspan-preload-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  const bool linked = route.starts_with("linked") || route.starts_with("default");
  std::string preloads;
  for (const std::string& library : libraries) {
    if (!preloads.empty()) preloads += ":";
    preloads += ByLink(library, folder + "/" + std::to_string(preloads.size()));
  }
  // As a user's shell is: without what these tests are given.
  const std::string command =
      "env -u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER LD_LIBRARY_PATH='" SIMCUDA_FOLDER
      "' SIMCUDA_DEVICE_MEMORY=48MiB ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " +
      environment + " LD_PRELOAD='" + preloads + "' '" +
      (linked ? PROGRAM_LINKED_PATH : PROGRAM_OPENED_PATH) + "' " + route + " " + scenario + " >'" +
      folder + "/out' 2>'" + folder + "/err'";
  const int status = std::system(command.c_str());
  Output output;
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.out = ReadText(folder + "/out");
  output.err = ReadText(folder + "/err");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return output;
}

Output RunPlain(const std::string& route, const std::string& scenario,
                const std::string& environment) {
  return RunWith({}, route, scenario, environment);
}

Output RunPreloaded(const std::string& route, const std::string& scenario,
                    const std::string& environment) {
  // The test of the stub runs what the preload is tested with.
  const char* const other = getenv("VRAMSPAN_TEST_PRELOAD");
  return RunWith({other != nullptr ? other : kPreload}, route, scenario, environment);
}

}  // namespace vramspan_test
