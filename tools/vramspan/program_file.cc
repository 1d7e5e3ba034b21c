#include "tools/vramspan/program_file.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace vramspan::run {
namespace {

// As the kernel: this much of a script's first line, and so many scripts that run scripts.
constexpr size_t kFirstLine = 256;
constexpr int kMostScripts = 5;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif

class File {
 public:
  // One that cannot be read is as an empty one.
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // What is there of it.
  std::string Read(uint64_t offset, size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t got = pread(fd_, text.data(), bytes, static_cast<off_t>(offset));
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  template <typename T>
  bool Read(uint64_t offset, T* value) const {
    return pread(fd_, value, sizeof(T), static_cast<off_t>(offset)) == sizeof(T);
  }

 private:
  const int fd_;
};

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool HasMoreRights(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return false;
  if ((s.st_mode & S_ISUID) != 0 && s.st_uid != geteuid()) return true;
  if ((s.st_mode & S_ISGID) != 0 && (s.st_mode & S_IXGRP) != 0 && s.st_gid != getegid()) {
    return true;
  }
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

Reach ReachOfElf(const std::string& path, const File& file) {
  Elf64_Ehdr header;
  if (!file.Read(0, &header)) return {};
  if (header.e_ident[EI_CLASS] == ELFCLASS32) return {"is a 32-bit program", false, true};
  if (header.e_machine != kMachine) return {"is for another machine", false, true};
  if (HasMoreRights(path)) return {"has more rights than its user", false, false};
  std::string interpreter;
  bool has_interpreter = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.Read(header.e_phoff + uint64_t{i} * sizeof(segment), &segment)) return {};
    if (segment.p_type != PT_INTERP) continue;
    has_interpreter = true;
    interpreter = file.Read(segment.p_offset, std::min<uint64_t>(segment.p_filesz, PATH_MAX));
    interpreter = interpreter.c_str();  // It ends in a 0.
  }
  // A loader that is run itself has none, and preloads for the program that it is given.
  const std::string_view loader = NameOf(has_interpreter ? interpreter : path);
  if (loader.starts_with("ld-musl-")) return {"is a program for musl", true, false};
  if (!has_interpreter && !(loader.starts_with("ld") && absl::StrContains(loader, ".so"))) {
    return {"is linked statically", true, false};
  }
  return {};
}

// The words behind #!, as the kernel reads them: what runs the script, and one argument.
std::vector<std::string> ScriptWords(std::string_view line) {
  line = line.substr(2, line.find('\n') - 2);
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// What env is to run: behind its options and assignments.
std::string RunByEnv(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with('-') || absl::StrContains(words[i], '=')) continue;
    return words[i];
  }
  return "";
}

}  // namespace

std::optional<std::string> FindProgram(const std::string& program) {
  const auto runnable = [](const std::string& path) {
    std::error_code error;
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, error);
  };
  if (absl::StrContains(program, '/')) {
    return runnable(program) ? std::optional(program) : std::nullopt;
  }
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder :
       absl::StrSplit(path != nullptr ? path : "/bin:/usr/bin", ':')) {
    std::string file(folder.empty() ? "." : folder);
    file.append("/").append(program);
    if (runnable(file)) return file;
  }
  return std::nullopt;
}

std::string WhyNotRun(const std::string& program, int error) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool is_there = fs::exists(program, ignored);
  if (program.empty()) return "a program's name is missing";
  if (error == ENOENT && !absl::StrContains(program, '/')) {
    return absl::StrCat("there is no such program in PATH",
                        is_there ? absl::StrCat("; of the file that is here, write ./", program,
                                                ", or put what runs it before it, as python3")
                                 : "");
  }
  if (error == ENOENT && is_there) {
    const std::string start = File(program).Read(0, kFirstLine);
    const std::vector<std::string> words =
        start.starts_with("#!") ? ScriptWords(start) : std::vector<std::string>();
    if (words.empty()) return "the loader that it names is not there";
    return absl::StrCat("its first line has it run by ", words[0], ", which is not there");
  }
  if (error == EACCES && fs::is_directory(program, ignored)) return "it is a folder";
  if (error == EACCES && is_there && access(program.c_str(), X_OK) != 0) {
    return "it may not be executed; chmod +x it, or put what runs it before it, as python3";
  }
  return std::strerror(error);
}

Reach ReachOf(const std::string& program) {
  std::string name = program;
  for (int i = 0; i <= kMostScripts; ++i) {
    const std::optional<std::string> path = FindProgram(name);
    if (!path.has_value()) return {};
    const File file(*path);
    const std::string start = file.Read(0, kFirstLine);
    if (start.starts_with(ELFMAG)) {
      Reach reach = ReachOfElf(*path, file);
      if (i != 0 && !reach.why_not.empty()) {
        reach.why_not = "is run by " + *path + ", which " + reach.why_not;
      }
      return reach;
    }
    if (!start.starts_with("#!")) return {};
    const std::vector<std::string> words = ScriptWords(start);
    if (words.empty()) return {};
    const std::string by_env = NameOf(words[0]) == "env" ? RunByEnv(words) : "";
    name = by_env.empty() ? words[0] : by_env;
  }
  return {};
}

}  // namespace vramspan::run
