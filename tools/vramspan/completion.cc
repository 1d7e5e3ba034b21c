// `vramspan completion`: what a shell needs to complete command lines.
#include <absl/strings/str_replace.h>

#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "tools/vramspan/command.h"
#include "tools/vramspan/completion_scripts.h"

namespace vramspan {
namespace completion {

std::string Quoted(std::string_view text) {
  return "'" + absl::StrReplaceAll(text, {{"'", "'\\''"}}) + "'";
}

CommandTable HelpTable(const CommandTable& root) {
  CommandTable help;
  help.name = root.name;
  help.summary = root.summary;
  for (const CommandTable& action : root.actions) help.actions.push_back(HelpTable(action));
  return help;
}

}  // namespace completion

namespace {

class CompletionCommand final : public Command {
 public:
  std::string name() const override { return "completion"; }
  std::string summary() const override {
    return "Print what a shell needs to complete command lines";
  }

  void Define(CommandOptions& options) override {
    given_ = options;
    options.Option("shell", shell_, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
    options.Footer(
        "The packages for systems have the three scripts where shells look for them. Others put "
        "the script there: bash reads ~/.local/share/bash-completion/completions/vramspan, fish "
        "~/.config/fish/completions/vramspan.fish, and zsh _vramspan in a folder of its fpath.\n"
        "\n"
        "Exit status\n"
        "  0  the script is printed\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan completion bash > vramspan.bash   # `source vramspan.bash` tries it\n"
        "  vramspan completion zsh > _vramspan\n"
        "  vramspan completion fish > vramspan.fish\n"
        "\n"
        "Read more: docs/install.md");
  }

  int Run() override {
    CommandTable table = given_->WholeTable();
    CommandTable help = completion::HelpTable(table);
    help.name = "help";
    help.summary = "Say what a command does";
    table.actions.push_back(std::move(help));
    std::cout << (shell_ == "bash"  ? completion::BashScript(table)
                  : shell_ == "zsh" ? completion::ZshScript(table)
                                    : completion::FishScript(table));
    return kExitOk;
  }

 private:
  std::optional<CommandOptions> given_;
  std::string shell_;
};

VRAMSPAN_COMMAND(CompletionCommand);

}  // namespace
}  // namespace vramspan
