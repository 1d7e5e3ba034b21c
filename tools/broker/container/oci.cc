#include "tools/broker/container/oci.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/clean_text.h"
#include "tools/broker/container/request.h"

namespace vramspan::broker {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostOfAnId = 128;

Status Wrong(std::string_view what, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why));
}

StatusOr<Json> Object(std::string_view what, std::string_view text, size_t most) {
  if (text.size() > most) {
    return Wrong(what, absl::StrCat("it is longer than ", most, " bytes"));
  }
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Wrong(what, "it is no JSON object");
  return json;
}

// "" where there is none.
std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

bool IsContainerId(std::string_view id) {
  return !id.empty() && id.size() <= kMostOfAnId && id.front() != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                  c == '-';
         });
}

StatusOr<ContainerState> ReadContainerState(std::string_view text) {
  VS_ASSIGN_OR_RETURN(const Json json, Object("the state", text, kMostOfState));
  ContainerState state = {.id = TextOf(json, "id"), .bundle = TextOf(json, "bundle")};
  if (!IsContainerId(state.id)) {
    return Wrong("the state", absl::StrCat("'", Repeated(state.id), "' is not a container's id"));
  }
  const std::string status = TextOf(json, "status");
  state.ended = status == "stopped";
  if (state.ended) return state;
  if (status != "creating" && status != "created" && status != "running") {
    return Wrong("the state", absl::StrCat("'", Repeated(status), "' is not known as a status"));
  }
  const auto pid = json.find("pid");
  if (pid == json.end() || !pid->is_number_unsigned() || pid->get<uint64_t>() == 0 ||
      pid->get<uint64_t>() > std::numeric_limits<int>::max()) {
    return Wrong("the state", "it has no pid");
  }
  state.pid = static_cast<int>(pid->get<uint64_t>());
  if (!state.bundle.starts_with('/') || state.bundle.find('\0') != std::string::npos) {
    return Wrong("the state", "it has no bundle's path");
  }
  return state;
}

StatusOr<std::map<std::string, std::string>> ReadContainerVariables(std::string_view config) {
  VS_ASSIGN_OR_RETURN(const Json json, Object("config.json", config, kMostOfConfig));
  std::map<std::string, std::string> variables;
  const auto process = json.find("process");
  if (process == json.end() || !process->is_object()) return variables;
  const auto environment = process->find("env");
  if (environment == process->end() || !environment->is_array()) return variables;
  for (const Json& entry : *environment) {
    if (!entry.is_string()) continue;
    const auto& text = entry.get_ref<const std::string&>();
    const size_t equals = text.find('=');
    if (equals == std::string::npos || !IsRequestVariable(text.substr(0, equals))) continue;
    // As a program would see it: the first of several.
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace vramspan::broker
