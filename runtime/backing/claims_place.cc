#include "runtime/backing/claims_place.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/user_folder.h"

namespace vramspan {
namespace {

constexpr char kFolder[] = "vramspan";

}  // namespace

ClaimsPlace::ClaimsPlace(const std::string& folder, const std::string& name)
    : folder_(folder), name_(name), path_(absl::StrCat(folder, "/", kFolder, "/", name)) {}

StatusOr<int> ClaimsPlace::Folder() {
  if (opened_.held()) {
    if (const StatusOr<int> at = opened_.Get(); at.ok()) return at;
  }
  VS_ASSIGN_OR_RETURN(OpenedFolder folder, MakeUserFolder({folder_, kFolder, /*shared=*/false}));
  opened_.Close();
  opened_.Adopt(folder.Release());
  return opened_.Get();
}

StatusOr<int> ClaimsPlace::Open() {
  VS_ASSIGN_OR_RETURN(const int at, Folder());
  return OpenUserFile(at, name_, path_);
}

bool ClaimsPlace::Stat(struct stat* file) const {
  const StatusOr<int> at = opened_.Get();
  return at.ok() && fstatat(*at, name_.c_str(), file, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace vramspan
