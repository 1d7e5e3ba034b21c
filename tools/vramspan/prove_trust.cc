#include "tools/vramspan/prove_trust.h"

#include <absl/strings/str_cat.h>

#include "runtime/observe/readings.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan::prove {
namespace {

std::string LinesOf(const ImageVerdict& image) {
  std::string each, all = ImageLine(image.module, image.kernels.size()), on_condition;
  bool all_can_be_said = true;
  for (const auto& [name, verdict] : image.kernels) {
    const bool always = verdict.proven && verdict.when.empty();
    if (!TrustCanName(name)) {
      all_can_be_said &= always;
    } else if (always) {
      absl::StrAppend(&each, ReadLine(image.module, name));
    } else {
      absl::StrAppend(&all, UnreadLine(image.module, name));
      if (verdict.proven) on_condition += ReadLine(image.module, name, verdict.when);
    }
  }
  return (all_can_be_said && all.size() < each.size() ? all : each) + on_condition;
}

}  // namespace

StatusOr<std::string> MakeTrust(const std::vector<FileVerdict>& files, std::string_view date) {
  std::string text = TrustHead("Module, and name or number of kernels"), of;
  for (const FileVerdict& file : files) {
    std::string lines;
    for (const ImageVerdict& image : file.own) {
      const size_t proven = image.proven() + image.on_condition();
      if (image.module != 0 && proven != 0) absl::StrAppend(&lines, LinesOf(image));
    }
    if (lines.empty()) continue;
    // Of the path the name alone: folders may hold what is nobody's business.
    const std::string_view path = file.path;
    const std::string from = file.loaded_by.empty()
                                 ? std::string(path.substr(path.rfind('/') + 1))
                                 : absl::StrCat("what ", file.loaded_by, " loaded");
    // What a program loaded is one source, in as many images as it be.
    if (from != of) absl::StrAppend(&text, TrustOf(absl::StrCat(from, ", ", date)));
    of = from;
    absl::StrAppend(&text, lines);
  }
  const Status whole = CheckTrust(text);
  if (whole.ok()) return text;
  return absl::FailedPreconditionError(absl::StrCat(
      whole.message(), "; write one of each file, and name them all with colons between them"));
}

}  // namespace vramspan::prove
