// What a container's runtime says to the hook, and what the daemon makes of the file that the hook
// writes. The first byte says which of both texts it is.
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "tools/broker/container/oci.h"
#include "tools/broker/container/request.h"
#include "tools/broker/container/tenant_file.h"
#include "tools/broker/server/configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::broker;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const auto state = ReadContainerState(text);
    if (!state.ok()) return 0;
    VS_CHECK(IsContainerId(state->id) && state->id.find('/') == std::string::npos);
    VS_CHECK(state->ended || (state->pid > 0 && state->bundle.starts_with('/')));
    return 0;
  }
  const auto variables = ReadContainerVariables(text);
  if (!variables.ok()) return 0;
  const auto request = ReadContainerRequest(*variables);
  if (!request.ok()) return 0;
  // What is written is what is read.
  const ContainerTenant written = {
      .id = "c0ffee", .cgroup = "/a \"\\x", .pid = 1, .started = "2", .request = *request};
  const auto read = ReadTenant("c0ffee.toml", TenantText(written));
  VS_CHECK(read.ok() && read->cgroup == written.cgroup && read->name == "container-c0ffee");
  return 0;
}
