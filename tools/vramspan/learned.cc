// `vramspan learned`: looks at what runs have left to later ones.
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/learned_action.h"

namespace vramspan {
namespace learned_command {

std::string KeyText(uint64_t key) { return absl::StrCat(absl::Hex(key, absl::kZeroPad16)); }

std::string AgoText(int64_t written) {
  const int64_t seconds = std::max<int64_t>(0, std::time(nullptr) - written);
  const auto ago = [](int64_t count, const char* unit) {
    return absl::StrCat(count, " ", unit, count == 1 ? " ago" : "s ago");
  };
  if (seconds < 120) return ago(seconds, "second");
  if (seconds < 7200) return ago(seconds / 60, "minute");
  if (seconds < 172'800) return ago(seconds / 3600, "hour");
  return ago(seconds / 86'400, "day");
}

StatusOr<KeyedFiles::Entry> FindEntry(const std::vector<KeyedFiles::Entry>& entries,
                                      const std::string& key) {
  std::optional<KeyedFiles::Entry> found;
  for (const KeyedFiles::Entry& entry : entries) {
    if (!KeyText(entry.key).starts_with(key)) continue;
    if (key.empty()) return entry;
    if (found.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("several keys begin with '", key, "'; give more of it"));
    }
    found = entry;
  }
  if (found.has_value()) return *found;
  return absl::NotFoundError(
      absl::StrCat("no key begins with '", Repeated(key), "'; `vramspan learned list` has them"));
}

StatusOr<Learned> ReadLearned(const KeyedFiles& files, uint64_t key) {
  VS_ASSIGN_OR_RETURN(const std::string text, files.Read(key));
  StatusOr<Learned> learned = ParseLearned(text);
  if (learned.ok()) return learned;
  // No mistake of the command line.
  return absl::FailedPreconditionError(
      absl::StrCat(files.PathOf(key), ": ", learned.status().message()));
}

}  // namespace learned_command

namespace {

class LearnedCommand final : public ActionsCommand {
 public:
  std::string name() const override { return "learned"; }
  std::string summary() const override {
    return "Show or remove what runs have left to later ones";
  }

  void Define(CommandOptions& options) override {
    options.Footer(
        "With `vramspan run --learned on` a program keeps what it learns of its kernels: how long "
        "they take, and what their memory costs where it lies on the host. The next run of the "
        "same program begins with that. Files lie in ~/.cache/vramspan/learned.\n"
        "\n"
        "Exit status\n"
        "  0  done as asked\n"
        "  1  a file cannot be read or removed, or there is none with that key\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan run --learned on -- python3 train.py\n"
        "  vramspan learned list\n"
        "  vramspan learned show\n"
        "  vramspan learned clear\n"
        "\n"
        "Read more: docs/learned.md");
    Offer(options,
          {&learned_command::MakeList, &learned_command::MakeShow, &learned_command::MakeClear});
  }
};

VRAMSPAN_COMMAND(LearnedCommand);

}  // namespace
}  // namespace vramspan
