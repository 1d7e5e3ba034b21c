// The kernel's files on memory (meminfo, cgroups of either version, mounts), as a container may
// show them. The input is their contents, each ended by a zero byte.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/backing/host_limits.h"
#include "runtime/base/log.h"

namespace {

// Where the fuzzer's mounts may lead: to a cgroup two levels deep.
constexpr std::array kFiles = {"proc/meminfo",
                               "proc/self/cgroup",
                               "proc/self/mountinfo",
                               "c/memory.max",
                               "c/memory.current",
                               "c/memory.stat",
                               "c/a/memory.max",
                               "c/a/memory.high",
                               "c/a/memory.current",
                               "c/a/memory.limit_in_bytes",
                               "c/a/memory.usage_in_bytes",
                               "c/a/memory.stat"};

const std::string& Root() {
  static const std::string* const root = [] {
    auto* made =
        new std::string(std::filesystem::temp_directory_path() / "vramspan-fuzz-limits-XXXXXX");
    VS_CHECK(mkdtemp(made->data()) != nullptr);
    for (const char* folder : {"/proc/self", "/c/a"}) {
      std::filesystem::create_directories(*made + folder);
    }
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(Root(), ignored);
    });
    return made;
  }();
  return *root;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan;  // NOLINT
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* const file : kFiles) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    std::ofstream(Root() + "/" + file, std::ios::trunc) << rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto limits = ReadHostLimits(Root());
  if (!limits.ok()) return 0;
  const Bytes budget = DefaultHostBudget(*limits);
  VS_CHECK(budget.value <= limits->available.value);
  VS_CHECK(!limits->cgroup_room.has_value() || budget.value <= limits->cgroup_room->value);
  return 0;
}
