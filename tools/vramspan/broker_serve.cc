// `vramspan broker serve`: becomes the daemon.
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "tools/vramspan/broker_action.h"

namespace vramspan::broker_command {
namespace {

StatusOr<std::string> Daemon() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path daemon =
      (self.parent_path() / "../libexec/vramspan/broker").lexically_normal();
  if (!error && std::filesystem::is_regular_file(daemon, error)) return daemon.string();
  return absl::NotFoundError(
      absl::StrCat("the broker's daemon is not at ", daemon.string(),
                   "; build the target vramspan_broker, or install the .deb"));
}

class Serve final : public Action {
 public:
  std::string name() const override { return "serve"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options =
        broker.Action(name(), "Share this host's GPUs, in the foreground, until it is ended");
    options.Option("--run-directory", run_directory_, "Where its sockets lie").Shown("DIR");
    options.Option("--config", config_, "Where tenants.d lies, with a file for each tenant")
        .Shown("DIR");
    options
        .Option("--capacity", capacity_,
                "As device=SIZE,host=SIZE: what there is, instead of what NVML says. For tests")
        .Shown("SIZES");
    options
        .Option("--turns", turns_,
                "Whether programs whose data do not fit together work by turns: auto, where that "
                "is faster, or off (default: auto)")
        .Shown("auto|off");
    options
        .Option(
            "--metrics", metrics_,
            "Serve metrics for Prometheus there, at /metrics. A port alone: for this host alone")
        .Shown("ADDRESS:PORT");
    options
        .Option("--metrics-file", metrics_file_,
                "Write metrics there each 15 s, for node_exporter's textfile collector")
        .Shown("FILE.prom");
    options.Option("--proc", proc_, "Where cgroups of processes are read. For tests").Shown("DIR");
    options.Footer(
        "The run directory is $VRAMSPAN_BROKER where that is a path. Else it is /run/vramspan for "
        "root, and $XDG_RUNTIME_DIR/vramspan for others. The configuration is in /etc/vramspan or "
        "~/.config/vramspan. It is read again when a file changes, and at SIGHUP.\n"
        "\n"
        "Exit status\n"
        "  0  it was ended by SIGTERM or SIGINT\n"
        "  1  it could not serve; a sentence on stderr says why\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker serve\n"
        "  vramspan broker serve --run-directory broker --capacity device=8GiB,host=16GiB\n"
        "  vramspan broker serve --metrics-file vramspan.prom\n"
        "\n"
        "Read more: docs/sharing.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const std::string daemon, Daemon());
    std::vector<std::string> words = {daemon};
    const auto add = [&](const char* option, const std::optional<std::string>& value) {
      if (value) words.insert(words.end(), {option, *value});
    };
    add("--run-directory", run_directory_);
    add("--config", config_);
    add("--capacity", capacity_);
    add("--turns", turns_);
    add("--metrics", metrics_);
    add("--metrics-file", metrics_file_);
    add("--proc", proc_);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(daemon.c_str(), arguments.data());
    return absl::FailedPreconditionError(
        absl::StrCat(daemon, ": ", std::generic_category().message(errno)));
  }

 private:
  std::optional<std::string> run_directory_, config_, capacity_, metrics_, metrics_file_, proc_;
  std::optional<std::string> turns_;
};

}  // namespace

std::unique_ptr<Action> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace vramspan::broker_command
