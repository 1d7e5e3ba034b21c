#include "tools/vramspan/info_evidence.h"

#include <absl/strings/str_split.h>

#include <cstdlib>
#include <string_view>

#include "runtime/api/tracer_library.h"
#include "runtime/api/trust_files.h"
#include "runtime/observe/hardware_counters.h"
#include "runtime/observe/trust_list.h"
#include "tools/prove/disassembler.h"

namespace vramspan::info {

std::vector<TrustSource> TrustSources() {
  std::vector<TrustSource> sources = {{.name = "built in", .proven = BuiltInTrust().proven()}};
  const char* const paths = std::getenv("VRAMSPAN_TRUST");
  if (paths == nullptr) return sources;
  for (const std::string_view path : absl::StrSplit(paths, ':', absl::SkipEmpty())) {
    TrustList list;
    const Status read = AddTrustFiles(path, &list);
    sources.push_back({std::string(path), read, list.proven()});
  }
  return sources;
}

StatusOr<std::string> CodeReader() {
  VS_ASSIGN_OR_RETURN(const prove::Disassembler found, prove::Disassembler::Find(""));
  return found.path();
}

Status CountersCanBeRead(const Driver& driver, CUdevice device, CUcontext context) {
  VS_ASSIGN_OR_RETURN(const vramspanCountersTable* const table, tracer_library::Counters());
  const std::string cupti = tracer_library::CuptiBeside(driver);
  vramspanCounters* counters = nullptr;
  int denied = 0;
  char error[512] = "";
  const auto nothing = [](void*, const vramspanCounted*) {};
  if (table->open(context, device, cupti.empty() ? nullptr : cupti.c_str(), nothing, nullptr,
                  &counters, &denied, error, sizeof(error)) != 0 ||
      table->close(counters, error, sizeof(error)) != 0) {
    return absl::UnavailableError(error);
  }
  return absl::OkStatus();
}

}  // namespace vramspan::info
