#include "tools/vramspan/own_folder.h"

#include <absl/strings/str_cat.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/vramspan/command.h"

namespace vramspan {

StatusOr<std::unique_ptr<OwnFolder>> OwnFolder::Make(const std::string& who,
                                                     const std::string& what) {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string path = parent / absl::StrCat("vramspan-", what, "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a folder in ", parent.string(), ": ", std::strerror(errno)));
  }
  return std::unique_ptr<OwnFolder>(new OwnFolder(who, path));
}

OwnFolder::OwnFolder(std::string who, std::string path)
    : who_(std::move(who)), path_(std::move(path)) {}

OwnFolder::~OwnFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) SayError(who_, absl::StrCat(path_, " cannot be removed: ", error.message()));
}

}  // namespace vramspan
