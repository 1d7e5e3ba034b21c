// `vramspan broker cdi`: what containers get of the host, for their runtimes.
#include <absl/strings/str_cat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tools/broker/control/container.h"
#include "tools/broker/control/run_directory.h"
#include "tools/replay/new_file.h"
#include "tools/vramspan/broker_action.h"

namespace vramspan::broker_command {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kKind[] = "vramspan.io/gpu";
constexpr char kName[] = "all";

StatusOr<std::string> ThisCommand() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::NotFoundError(absl::StrCat("/proc/self/exe: ", error.message()));
  return self.string();
}

StatusOr<std::string> LibrariesFolder() {
  VS_ASSIGN_OR_RETURN(const std::filesystem::path self, ThisCommand());
  std::error_code error;
  std::filesystem::path first;
  for (const char* place : {"../lib/libvramspan_stub.so", VRAMSPAN_PRELOAD_INSTALLED}) {
    const std::filesystem::path folder =
        (self.parent_path() / place).lexically_normal().parent_path();
    if (std::filesystem::exists(folder / "libvramspan_stub.so", error)) return folder.string();
    if (first.empty()) first = folder;
  }
  return absl::NotFoundError(absl::StrCat("libvramspan_stub.so is not in ", first.string(),
                                          "; install vramspan, or name its --libraries"));
}

// When the container has its cgroup and nothing of it runs, and when it has ended.
Json Hooks(const std::string& command, const std::string& run_directory) {
  Json hooks;
  for (const char* stage : {"createRuntime", "poststop"}) {
    hooks.push_back(
        {{"hookName", stage},
         {"path", command},
         {"args", {"vramspan", "broker", "cdi-hook", "--run-directory", run_directory}}});
  }
  return hooks;
}

Json Spec(const std::vector<broker::Mount>& mounts, const Json& hooks) {
  Json edits;
  for (const broker::Mount& mount : mounts) {
    edits["mounts"].push_back({{"hostPath", mount.host},
                               {"containerPath", mount.container},
                               {"options", {"ro", "nosuid", "nodev", "rbind", "rprivate"}}});
  }
  if (!hooks.empty()) edits["hooks"] = hooks;
  return {{"cdiVersion", "0.5.0"},
          {"kind", kKind},
          {"devices", Json::array({{{"name", kName}, {"containerEdits", edits}}})}};
}

class Cdi final : public Action {
 public:
  std::string name() const override { return "cdi"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options =
        broker.Action(name(), "Write what container runtimes need to have containers join");
    options.Option("-o,--output", output_, "The file to write, or replace; without it stdout")
        .Shown("FILE");
    options.Option("--run-directory", run_directory_, "Where the broker's sockets lie")
        .Shown("DIR");
    options
        .Option(
            "--libraries", libraries_,
            "Where libvramspan_stub.so and libvramspan_preload.so lie, if not with this command")
        .Shown("DIR");
    options
        .Option("--hook", hook_,
                "The command on the host that reads what a container asks for, if not this one; or "
                "none")
        .Shown("FILE");
    options.Footer(
        "It is a CDI spec of the device vramspan.io/gpu=all. A container with it has, to be read "
        "alone: the broker's folder for clients as /run/vramspan, the libraries as "
        "/usr/lib/vramspan/lib, and an /etc/ld.so.preload that names the stub. It has no socket "
        "for operators. Its runtime runs `vramspan broker cdi-hook` on the host when it starts and "
        "ends. The GPU itself comes from the vendor's device.\n"
        "\n"
        "Exit status\n"
        "  0  written\n"
        "  1  what would be mounted is not there, or not fit for it\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker cdi --output vramspan.json   # for /etc/cdi\n"
        "  vramspan broker cdi --hook none\n"
        "\n"
        "Read more: docs/sharing.md");
  }

  Status Run() override {
    if (run_directory_.empty()) {
      VS_ASSIGN_OR_RETURN(run_directory_, broker::OwnRunDirectory());
    }
    if (libraries_.empty()) {
      VS_ASSIGN_OR_RETURN(libraries_, LibrariesFolder());
    }
    const auto from_root = [](const std::string& path) {
      const std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
      return (normal.has_filename() ? normal : normal.parent_path()).string();
    };
    const std::string run = from_root(run_directory_);
    VS_ASSIGN_OR_RETURN(const std::vector<broker::Mount> mounts,
                        broker::ContainerMounts(run, from_root(libraries_)));
    Json hooks;
    if (hook_ != "none") {
      if (hook_.empty()) {
        VS_ASSIGN_OR_RETURN(hook_, ThisCommand());
      }
      VS_RETURN_IF_ERROR(broker::CheckHook(from_root(hook_)));
      hooks = Hooks(from_root(hook_), run);
    }
    return replay::WriteNewFile(output_, true, Spec(mounts, hooks).dump(2) + "\n");
  }

 private:
  std::string output_ = "-", run_directory_, libraries_, hook_;
};

}  // namespace

std::unique_ptr<Action> MakeCdi() { return std::make_unique<Cdi>(); }

}  // namespace vramspan::broker_command
