#include "runtime/api/program_key.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "include/vramspan/vramspan.h"
#include "runtime/base/small_file.h"
#include "runtime/placement/kernel_prices.h"

namespace vramspan {
namespace {

constexpr size_t kMostArguments = 1000;
constexpr size_t kMostCommandLine = size_t{1} << 20;

// A number may begin with a dash, too.
bool IsOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(word[1])) && word[1] != '.';
}

// Numbers in it are of one run: descriptors that a parent hands to its workers.
std::string WithoutDigits(std::string code) {
  std::erase_if(code, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return code;
}

}  // namespace

std::vector<std::string> ArgumentShape(
    const std::vector<std::string>& arguments,
    absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of) {
  std::vector<std::string> shape;
  bool script = false;
  for (size_t i = 0; i < std::min(arguments.size(), kMostArguments); ++i) {
    const std::string& word = arguments[i];
    if (IsOption(word)) {
      shape.push_back(word.substr(0, word.find('=')));
      continue;
    }
    const std::string before = i == 0 ? "" : arguments[i - 1];
    std::optional<std::string> stays;
    if (!script && before == "-m") stays = word;
    if (!script && before == "-c") stays = WithoutDigits(word);
    if (!script && !stays) stays = path_of(word);
    script |= stays.has_value();
    shape.push_back(stays.value_or("_"));
  }
  return shape;
}

ProgramKey KeyOf(const RunningProgram& program, const RunningOn& on,
                 absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of) {
  const std::vector<std::string> shape = ArgumentShape(program.arguments, path_of);
  ProgramKey key;
  key.program = program.executable;
  for (size_t i = 0; i < shape.size(); ++i) {
    // Code is for nobody to read.
    const bool code = i != 0 && shape[i - 1] == "-c";
    absl::StrAppend(&key.program, " ", code ? "_" : shape[i]);
  }
  key.device = absl::StrCat(on.device, ", GPU ", on.ordinal, ", driver ", on.driver, ", vramspan ",
                            VRAMSPAN_VERSION_MAJOR, ".", VRAMSPAN_VERSION_MINOR, ".",
                            VRAMSPAN_VERSION_PATCH);
  const std::string_view nul("\0", 1);
  key.hash = KernelPrice::HashOfName(absl::StrCat(program.executable, nul, program.size, nul,
                                                  program.seconds, nul, program.nanoseconds, nul,
                                                  absl::StrJoin(shape, nul), nul, nul, key.device));
  return key;
}

RunningProgram OwnProgram() {
  RunningProgram program;
  std::string path(PATH_MAX, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length > 0) program.executable = path.substr(0, static_cast<size_t>(length));
  struct stat s;
  if (stat("/proc/self/exe", &s) == 0) {
    program.size = static_cast<uint64_t>(s.st_size);
    program.seconds = s.st_mtim.tv_sec;
    program.nanoseconds = s.st_mtim.tv_nsec;
  }
  const StatusOr<std::string> line = ReadSmallFile("/proc/self/cmdline", kMostCommandLine);
  if (!line.ok() || line->empty()) return program;
  program.arguments = absl::StrSplit(std::string_view(*line).substr(0, line->size() - 1), '\0');
  program.arguments.erase(program.arguments.begin());
  return program;
}

std::optional<std::string> PathOfFile(const std::string& name) {
  struct stat s;
  if (stat(name.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  const std::unique_ptr<char, decltype(&std::free)> path(realpath(name.c_str(), nullptr),
                                                         &std::free);
  if (path == nullptr) return std::nullopt;
  return path.get();
}

}  // namespace vramspan
