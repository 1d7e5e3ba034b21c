#include "tools/broker/control/container.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/clean_text.h"
#include "tools/broker/control/run_directory.h"

namespace vramspan::broker {
namespace {

namespace fs = std::filesystem;

Status Unfit(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", why));
}

Status CheckPath(const std::string& path) {
  const bool plain = path.starts_with('/') && std::none_of(path.begin(), path.end(), [](char c) {
                       return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
                     });
  if (plain && CleanText(path) == path) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(path),
                   "' cannot be mounted by its path: use one from / on, of UTF-8 without control "
                   "characters"));
}

// Who can change it could have containers load what he likes, or speak to whom he likes.
Status CheckOwner(const std::string& path, bool folder) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    const bool clients = path.ends_with(kClientsFolder);
    return Unfit(path, absl::StrCat(std::strerror(errno),
                                    clients ? "; start the broker first: `vramspan broker serve`"
                                            : "; install vramspan, or name its --libraries"));
  }
  if (folder != S_ISDIR(found.st_mode))
    return Unfit(path, folder ? "it is no folder" : "it is no file");
  if ((found.st_uid != 0 && found.st_uid != geteuid()) ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Unfit(path, "others can change it, and what containers find there; chown or chmod it");
  }
  return absl::OkStatus();
}

Status CheckClients(const std::string& folder) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == &kBrokerSocket[1]) continue;
    return Unfit(folder, absl::StrCat("it also has '", Repeated(entry->path().filename().string()),
                                      "', which containers would see; remove it"));
  }
  return error ? Unfit(folder, error.message()) : absl::OkStatus();
}

}  // namespace

Status CheckHook(const std::string& path) {
  VS_RETURN_IF_ERROR(CheckPath(path));
  return CheckOwner(path, false);
}

StatusOr<std::vector<Mount>> ContainerMounts(const std::string& run_directory,
                                             const std::string& libraries) {
  const std::string clients = run_directory + kClientsFolder;
  const std::string list = libraries + kPreloadList;
  for (const std::string& path : {clients, libraries}) VS_RETURN_IF_ERROR(CheckPath(path));
  VS_RETURN_IF_ERROR(CheckOwner(clients, true));
  VS_RETURN_IF_ERROR(CheckClients(clients));
  VS_RETURN_IF_ERROR(CheckOwner(libraries, true));
  for (const char* name : {"/libvramspan_stub.so", "/libvramspan_preload.so", kPreloadList}) {
    VS_RETURN_IF_ERROR(CheckOwner(libraries + name, false));
  }
  return std::vector<Mount>{
      {clients, kRunFolderInContainer}, {libraries, kLibrariesInContainer}, {list, kLoadersFile}};
}

}  // namespace vramspan::broker
