// `vramspan broker cdi-hook`: what a container's runtime runs when the container starts and ends.
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "runtime/base/small_file.h"
#include "tools/broker/container/oci.h"
#include "tools/broker/container/request.h"
#include "tools/broker/container/tenant_file.h"
#include "tools/broker/control/run_directory.h"
#include "tools/vramspan/broker_action.h"

namespace vramspan::broker_command {
namespace {

StatusOr<std::string> ReadInput(size_t most) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return absl::FailedPreconditionError(absl::StrCat("stdin: ", strerror(errno)));
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > most) {
      return absl::FailedPreconditionError(
          absl::StrCat("stdin: it is longer than ", most, " bytes"));
    }
  }
}

class Hook final : public Action {
 public:
  std::string name() const override { return "cdi-hook"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options = broker.Action(
        name(), "Tell the broker what a container asks for; container runtimes run it");
    options.Option("--run-directory", run_directory_, "Where the broker's sockets lie")
        .Shown("DIR");
    options.Option("--proc", proc_, "Where cgroups of processes are read. For tests").Shown("DIR");
    options.Footer(
        "The container's state comes on stdin, as OCI runtimes write it. Of the container's "
        "variables, NVIDIA_GPU_MEMORY_REQUEST and NVIDIA_GPU_MEMORY_LIMIT are its guarantee and "
        "its limit. VRAMSPAN_WEIGHT and VRAMSPAN_CLASS are what they are for a tenant. The broker "
        "gives no more than containers.toml allows.\n"
        "\n"
        "Exit status\n"
        "  0  the broker can read it, or there was nothing to say\n"
        "  1  it cannot be told; a sentence on stderr says why, and the runtime does not start the "
        "container\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker cdi --output vramspan.json   # names it\n"
        "  vramspan broker cdi-hook < state.json\n"
        "\n"
        "Read more: docs/sharing.md");
  }

  Status Run() override {
    // What others wrote is no mistake of the command line.
    const Status told = Tell();
    return absl::IsInvalidArgument(told) ? absl::FailedPreconditionError(told.message()) : told;
  }

 private:
  Status Tell() {
    if (run_directory_.empty()) {
      VS_ASSIGN_OR_RETURN(run_directory_, broker::OwnRunDirectory());
    }
    const std::string folder = run_directory_ + broker::kContainersFolder;
    VS_ASSIGN_OR_RETURN(const std::string text, ReadInput(broker::kMostOfState));
    VS_ASSIGN_OR_RETURN(const broker::ContainerState state, broker::ReadContainerState(text));
    if (state.ended) return broker::RemoveTenant(folder, state.id);
    VS_ASSIGN_OR_RETURN(const std::string config,
                        ReadSmallFile(state.bundle + "/config.json", broker::kMostOfConfig));
    VS_ASSIGN_OR_RETURN(const auto variables, broker::ReadContainerVariables(config));
    VS_ASSIGN_OR_RETURN(const auto request, broker::ReadContainerRequest(variables));
    const Status written = Write(folder, state, request);
    return request.empty() ? absl::OkStatus() : written;
  }

  // Who asks for nothing is bounded by the operator's word, too.
  Status Write(const std::string& folder, const broker::ContainerState& state,
               const std::map<std::string, std::string>& request) const {
    VS_ASSIGN_OR_RETURN(broker::ContainerTenant tenant,
                        broker::LookAtContainer(proc_, state.id, state.pid));
    tenant.request = request;
    VS_RETURN_IF_ERROR(broker::SweepTenants(folder, proc_));
    return broker::WriteTenant(folder, tenant);
  }

  std::string run_directory_, proc_ = "/proc";
};

}  // namespace

std::unique_ptr<Action> MakeHook() { return std::make_unique<Hook>(); }

}  // namespace vramspan::broker_command
