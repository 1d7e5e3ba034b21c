// What the broker's daemon reads that others wrote: files of tenants, what is asked of it, the roll
// of a broker before, the kernel's lines with names of others. The first byte says which.
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "tools/broker/server/configuration.h"
#include "tools/broker/server/host_memory.h"
#include "tools/broker/server/requests.h"
#include "tools/broker/server/roll.h"
#include "tools/broker/words/cgroup.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::broker;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      const auto tenant = ReadTenant("f.toml", text);
      if (tenant.ok()) {
        VS_CHECK(tenant->cgroup.starts_with('/'));
        VS_CHECK(tenant->policy.weight >= 1 && tenant->policy.weight <= kMostWeight);
      } else {
        VS_CHECK(tenant.status().message().starts_with("f.toml:"));
      }
      break;
    }
    case 1: {
      const auto request = ReadRequest(text);
      if (!request.ok()) ErrorAnswer(request.status().message());
      break;
    }
    case 2:
      LivingIn(text);
      break;
    case 3: {
      const std::string cgroup = CgroupOf(text);
      VS_CHECK(cgroup.starts_with('/'));
      VS_CHECK(IsWithin(cgroup, TenantOf(cgroup)));
      break;
    }
    default: {
      const auto use = ReadMeminfo(text);
      VS_CHECK(!use || use->available <= use->total);
    }
  }
  return 0;
}
