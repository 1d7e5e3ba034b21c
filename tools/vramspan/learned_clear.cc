// `vramspan learned clear`: removes what is kept.
#include <absl/strings/str_cat.h>

#include <iostream>

#include "tools/vramspan/learned_action.h"

namespace vramspan::learned_command {
namespace {

class Clear final : public Action {
 public:
  std::string name() const override { return "clear"; }

  void Define(CommandOptions& learned) override {
    CommandOptions options = learned.Action(name(), "Remove what is kept, of all programs or some");
    options.Option("key", keys_,
                   "Keys of `vramspan learned list`, or what they begin with (default: all)");
    options.Footer(
        "A program that runs with --learned on writes its file again when it ends.\n"
        "\n"
        "Exit status\n"
        "  0  done as asked; also if nothing is kept and no key was given\n"
        "  1  a file cannot be removed, or there is none with that key\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan learned clear\n"
        "\n"
        "Read more: docs/learned.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const KeyedFiles files, KeyedFiles::OfUser(kLearnedFiles));
    size_t removed = 0;
    if (keys_.empty()) {
      VS_ASSIGN_OR_RETURN(removed, files.RemoveAll());
    } else {
      VS_ASSIGN_OR_RETURN(const std::vector<KeyedFiles::Entry> entries, files.List());
      std::vector<uint64_t> chosen;
      for (const std::string& key : keys_) {
        if (key.empty()) return absl::InvalidArgumentError("'' is not a key");
        VS_ASSIGN_OR_RETURN(const KeyedFiles::Entry entry, FindEntry(entries, key));
        chosen.push_back(entry.key);
      }
      for (const uint64_t key : chosen) {
        const Status status = files.Remove(key);
        // It was named twice, or somebody was faster.
        if (absl::IsNotFound(status)) continue;
        VS_RETURN_IF_ERROR(status);
        ++removed;
      }
    }
    std::cout << removed << (removed == 1 ? " file" : " files") << " removed\n";
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<Action> MakeClear() { return std::make_unique<Clear>(); }

}  // namespace vramspan::learned_command
