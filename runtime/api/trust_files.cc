#include "runtime/api/trust_files.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <cstdlib>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/small_file.h"

namespace vramspan {
namespace {

Status AddTrustFile(const std::string& path, TrustList* list) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, TrustList::kMostText));
  return list->Add(path, text);
}

}  // namespace

Status AddTrustFiles(std::string_view paths, TrustList* list) {
  for (const std::string_view path : absl::StrSplit(paths, ':', absl::SkipEmpty())) {
    VS_RETURN_IF_ERROR(AddTrustFile(std::string(path), list));
  }
  return absl::OkStatus();
}

void AddTrustFiles(TrustList* list) {
  const char* const paths = std::getenv("VRAMSPAN_TRUST");
  if (paths == nullptr) return;
  for (const std::string_view path : absl::StrSplit(paths, ':', absl::SkipEmpty())) {
    const Status added = AddTrustFile(std::string(path), list);
    if (!added.ok()) {
      Log(LogLevel::kError,
          absl::StrCat("VRAMSPAN_TRUST: ", added.message(), "; nothing is trusted by this file"));
    }
  }
}

}  // namespace vramspan
