#include "tools/prove/files.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "runtime/base/clean_text.h"
#include "tools/prove/images.h"

namespace vramspan::prove {
namespace {

bool BeginsWell(const std::filesystem::path& path) {
  std::array<char, 16> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), begin.size());
  return MayHoldImages({begin.data(), static_cast<size_t>(file.gcount())});
}

}  // namespace

StatusOr<std::vector<std::string>> FilesOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->symlink_status(ignored)) && BeginsWell(entry->path())) {
      files.push_back(entry->path().string());
    }
  }
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(CleanText(path), ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace vramspan::prove
