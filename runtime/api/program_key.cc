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
#include <utility>

#include "include/vramspan/vramspan.h"
#include "runtime/api/record_file.h"
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
std::string WithoutDigits(std::string_view word) {
  std::string code(word);
  std::erase_if(code, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return code;
}

// With all that may be part of its version, as python3.12.
bool IsPython(std::string_view executable) {
  const std::string_view name = executable.substr(executable.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("pypy");
}

// Goes through the words of one command line.
class Shaper {
 public:
  Shaper(bool python, absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of)
      : python_(python), path_of_(path_of) {}

  void Take(const std::string& word) {
    const bool to_python = python_ && !script_;
    if (waits_ != '\0') {
      Value(std::exchange(waits_, '\0'), word);
    } else if (IsOption(word)) {
      Option(word, to_python);
    } else {
      // What may be the value of an option is none. Python's own options say so themselves.
      Word(word, !script_ && (to_python || !after_option_));
      after_option_ = false;
    }
  }
  ArgumentShape shape() && { return std::move(shape_); }

 private:
  void Put(std::string_view counts, std::string_view shown) {
    shape_.counts.emplace_back(counts);
    shape_.shown.emplace_back(shown);
  }

  void Word(const std::string& word, bool may_be_script) {
    const std::optional<std::string> path = may_be_script ? path_of_(word) : std::nullopt;
    script_ |= path.has_value();
    Put(path.value_or("_"), path.value_or("_"));
  }

  void Option(const std::string& word, bool to_python) {
    const size_t equals = word.find('=');
    after_option_ = equals == std::string::npos;
    if (word[1] == '-') {
      const std::string name = word.substr(0, equals);
      Put(name, name);
      if (to_python && word == "--check-hash-based-pycs") waits_ = 'W';
      return;
    }
    // Of several letters the first of these has all that is behind it, or the next word.
    const size_t at = to_python ? word.find_first_of("cmWX", 1) : std::string::npos;
    if (at != std::string::npos) {
      Put(word.substr(0, at + 1), word.substr(0, at + 1));
      if (at + 1 == word.size()) {
        waits_ = word[at];
      } else {
        Value(word[at], word.substr(at + 1));
      }
      return;
    }
    const std::string name = word.substr(0, equals);
    // Behind one letter a value may stand, or more letters, or it is a long name: who knows.
    Put(name, name.size() > 2 ? name.substr(0, 2) + "_" : name);
  }

  // Of an option of python's own.
  void Value(char of, std::string_view value) {
    script_ |= of == 'c' || of == 'm';
    after_option_ = false;
    if (of == 'm') return Put(value, value);
    // Code is for nobody to read.
    Put(of == 'c' ? WithoutDigits(value) : "_", "_");
  }

  const bool python_;
  const absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of_;
  bool script_ = false, after_option_ = false;
  char waits_ = '\0';  // An option of python's own that has the next word.
  ArgumentShape shape_;
};

}  // namespace

ArgumentShape ShapeOf(const RunningProgram& program,
                      absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of) {
  Shaper shaper(IsPython(program.executable), path_of);
  for (size_t i = 0; i < std::min(program.arguments.size(), kMostArguments); ++i) {
    shaper.Take(program.arguments[i]);
  }
  return std::move(shaper).shape();
}

ProgramKey KeyOf(const RunningProgram& program, const RunningOn& on,
                 absl::FunctionRef<std::optional<std::string>(const std::string&)> path_of) {
  const ArgumentShape shape = ShapeOf(program, path_of);
  ProgramKey key;
  key.program = program.executable;
  if (!program.name_alone) {
    for (const std::string& word : shape.shown) absl::StrAppend(&key.program, " ", word);
  }
  key.device = absl::StrCat(on.device, ", GPU ", on.ordinal, ", driver ", on.driver, ", vramspan ",
                            VRAMSPAN_VERSION_MAJOR, ".", VRAMSPAN_VERSION_MINOR, ".",
                            VRAMSPAN_VERSION_PATCH);
  const std::string_view nul("\0", 1);
  key.hash = KernelPrice::HashOfName(absl::StrCat(
      program.executable, nul, program.size, nul, program.seconds, nul, program.nanoseconds, nul,
      absl::StrJoin(shape.counts, nul), nul, nul, key.device));
  return key;
}

RunningProgram OwnProgram() {
  RunningProgram program;
  // Who asks for something that makes no sense does not want it told.
  program.name_alone = !TellsCommandLine().value_or(false);
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
