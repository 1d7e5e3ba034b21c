#include "tools/prove/disassembler.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "runtime/base/clean_text.h"

namespace vramspan::prove {
namespace {

constexpr char kName[] = "nvdisasm";

// So long it may take to find one.
constexpr std::chrono::seconds kMostSearch{10};

// Where packages of Python lie that may bring it. None of them is imported for that. By -I nothing
// of the folder that one is in is run, nor of PYTHONPATH; the user's own packages are looked at all
// the same. (-S would hide those of the system.)
constexpr char kFolders[] = R"(
import glob, importlib.util, os, site, sys
sys.path.append(site.getusersitepackages())
for package, inside in (("triton", "backends/nvidia/bin"), ("nvidia", "*/bin")):
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), inside))):
            print(path)
)";

bool CanRun(const std::string& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> InPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    std::string file = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    if (CanRun(file)) return file;
  }
  return std::nullopt;
}

std::vector<std::string> Folders() {
  std::vector<std::string> folders;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const home = std::getenv(variable);
    if (home != nullptr && *home != '\0') folders.push_back(absl::StrCat(home, "/bin"));
  }
  folders.emplace_back("/usr/local/cuda/bin");
  return folders;
}

std::vector<std::string> FoldersOfPython() {
  const StatusOr<MappedFile> printed =
      OutputOf({"python3", "-I", "-c", kFolders}, "", {.time = kMostSearch, .in_memory = true});
  if (!printed.ok()) return {};
  return absl::StrSplit(printed->bytes(), '\n', absl::SkipEmpty());
}

}  // namespace

StatusOr<Disassembler> Disassembler::Find(const std::string& named) {
  if (named.find('/') != std::string::npos) {
    if (CanRun(named)) return Disassembler(named);
    return absl::NotFoundError(
        absl::StrCat(CleanText(named), " is no program; --nvdisasm takes the file nvdisasm"));
  }
  const std::optional<std::string> found = InPath(named.empty() ? kName : named);
  if (found.has_value()) return Disassembler(*found);
  if (!named.empty()) {
    return absl::NotFoundError(absl::StrCat(CleanText(named), " is not in PATH"));
  }
  for (auto* const folders : {&Folders, &FoldersOfPython}) {
    for (const std::string& folder : folders()) {
      std::string file = absl::StrCat(folder, "/", kName);
      if (CanRun(file)) return Disassembler(std::move(file));
    }
  }
  return absl::NotFoundError(
      "there is no nvdisasm in PATH, in CUDA_HOME or /usr/local/cuda, nor in a package of "
      "python3; install NVIDIA's cuda-nvdisasm");
}

StatusOr<MappedFile> Disassembler::Run(std::string_view cubin, const ChildLimits& limits) const {
  return OutputOf({path_, kInput}, cubin, limits);
}

}  // namespace vramspan::prove
