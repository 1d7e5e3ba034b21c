#include "tools/vramspan/prove_program.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/run_program.h"
#include "tools/vramspan/run_start.h"

namespace vramspan::prove {
namespace {

constexpr char kProve[] = "vramspan prove";

// A folder that is there, or is made, and where the program's images will be taken.
StatusOr<std::string> FolderToKeep(const std::string& named) {
  const std::string path = std::filesystem::absolute(named).lexically_normal().string();
  struct stat folder = {};
  std::string why;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    why = std::strerror(errno);
  } else if (stat(path.c_str(), &folder) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISDIR(folder.st_mode)) {
    why = "it is no folder";
  } else if (folder.st_uid != geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    why = "others may write there, and would decide what is trusted; name a new folder";
  }
  if (why.empty()) return path;
  return absl::UnavailableError(absl::StrCat("--keep: ", CleanText(path), ": ", why));
}

}  // namespace

StatusOr<std::unique_ptr<LoadedImages>> LoadedImages::Of(const ProgramOptions& options) {
  const std::string& program = options.words.front();
  std::unique_ptr<LoadedImages> images(
      new LoadedImages(CleanText(program.substr(program.rfind('/') + 1))));
  if (options.keep.empty()) {
    VS_ASSIGN_OR_RETURN(images->own_, OwnFolder::Make(kProve, "prove"));
    images->folder_ = images->own_->path();
  } else {
    VS_ASSIGN_OR_RETURN(images->folder_, FolderToKeep(options.keep));
  }
  VS_RETURN_IF_ERROR(images->Run(options));
  VS_RETURN_IF_ERROR(images->ListFiles());
  return images;
}

Status LoadedImages::Run(const ProgramOptions& options) {
  run::Options run;
  // Its memory may be more than the device has, and nothing moves.
  run.tracer = "off";
  run.simulate = options.simulate;
  StatusOr<run::Plan> plan = run::PlanFor(kProve, options.words.front(), run, /*matters=*/true);
  if (!plan.ok()) {
    return absl::IsInvalidArgument(plan.status()) ? plan.status()
                                                  : absl::UnavailableError(plan.status().message());
  }
  (*plan)["VRAMSPAN_IMAGES"] = folder_;
  (*plan)["VRAMSPAN_OFF"] = "0";  // Whatever the user has for other commands: it would see nothing.
  VS_ASSIGN_OR_RETURN(exit_code_, RunProgram(options.words, {plan->begin(), plan->end()}));
  return absl::OkStatus();
}

Status LoadedImages::ListFiles() {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    // What a program that ended meanwhile left half written has another name.
    if (entry->path().extension() == ".image" &&
        std::filesystem::is_regular_file(entry->symlink_status(ignored))) {
      paths_.push_back(entry->path().string());
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder_, ": ", error.message()));
  std::sort(paths_.begin(), paths_.end());
  return absl::OkStatus();
}

void LoadedImages::Name(std::vector<FileVerdict>* files) const {
  std::erase_if(*files, [this](FileVerdict& file) {
    if (!std::binary_search(paths_.begin(), paths_.end(), file.path)) return false;
    file.loaded_by = program_;
    return file.own.empty();
  });
}

Status LoadedImages::Nothing() const {
  const std::string so = absl::StrCat(program_, " (exit code ", exit_code_, ") ");
  if (!paths_.empty()) {
    return absl::NotFoundError(absl::StrCat(so, "loaded no code for a GPU of NVIDIA's"));
  }
  return absl::NotFoundError(absl::StrCat(
      so,
      "loaded no GPU code that vramspan saw. Have it run a step: code is loaded when it is first "
      "used. Name files that it loads by their path, and those of programs without the preload "
      "(docs/preload.md), before --"));
}

}  // namespace vramspan::prove
