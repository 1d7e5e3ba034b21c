#include "tools/broker/container/request.h"

#include <absl/strings/str_cat.h>

#include <array>

#include "tools/broker/words/policy_text.h"

namespace vramspan::broker {
namespace {

struct Row {
  std::string_view variable, key;
  bool size;
};
constexpr std::array<Row, 4> kRows = {{{"NVIDIA_GPU_MEMORY_REQUEST", "guarantee", true},
                                       {"NVIDIA_GPU_MEMORY_LIMIT", "limit", true},
                                       {"VRAMSPAN_WEIGHT", "weight", false},
                                       {"VRAMSPAN_CLASS", "class", false}}};

// "8Gi" is Kubernetes' word for 8 GiB.
std::string WithUnit(const std::string& value) {
  for (const std::string_view unit : {"Ki", "Mi", "Gi", "Ti"}) {
    if (value.ends_with(unit)) return value + "B";
  }
  return value;
}

}  // namespace

bool IsRequestVariable(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.variable == name) return true;
  }
  return false;
}

StatusOr<std::map<std::string, std::string>> ReadContainerRequest(
    const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> request;
  Policy policy;
  for (const Row& row : kRows) {
    const auto found = variables.find(std::string(row.variable));
    if (found == variables.end() || found->second.empty()) continue;
    const std::string value = row.size ? WithUnit(found->second) : found->second;
    const Status set = SetPolicy(row.key, value, &policy);
    if (!set.ok())
      return absl::InvalidArgumentError(absl::StrCat(row.variable, ": ", set.message()));
    request.emplace(row.key, value);
  }
  return request;
}

}  // namespace vramspan::broker
