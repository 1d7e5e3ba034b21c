#include "tools/broker/server/configuration.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "runtime/base/small_file.h"
#include "tools/broker/words/cgroup.h"
#include "tools/broker/words/policy_bound.h"
#include "tools/broker/words/policy_text.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostOfAFile = 64 << 10;

Status At(const std::string& file, const toml::source_position& place, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", place.line, ": ", what));
}

// A number or a text, as it is written.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<int64_t>()) return absl::StrCat(*number);
  return std::nullopt;
}

Status Take(std::string_view key, const std::string& value, WantedTenant* tenant) {
  if (key == "name") {
    if (value.empty()) return absl::InvalidArgumentError("name: it is empty");
    tenant->name = value;
    return absl::OkStatus();
  }
  if (key == "cgroup") {
    VS_ASSIGN_OR_RETURN(tenant->cgroup, WrittenCgroup(value));
    return absl::OkStatus();
  }
  return SetPolicy(key, value, &tenant->policy);
}

// Each key and its value.
template <typename TakeOne>
Status TakeAll(const std::string& file, std::string_view text, TakeOne take) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return At(file, parsed.error().source().begin, parsed.error().description());
  }
  for (const auto& [key, node] : parsed.table()) {
    const std::optional<std::string> value = TextOf(node);
    if (!value) {
      return At(file, key.source().begin, absl::StrCat(key.str(), ": use a text or a number"));
    }
    const Status taken = take(key.str(), *value);
    if (!taken.ok()) return At(file, key.source().begin, taken.message());
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<WantedTenant> ReadTenant(const std::string& file, std::string_view text) {
  WantedTenant tenant = {.where = file};
  VS_RETURN_IF_ERROR(TakeAll(file, text, [&](std::string_view key, const std::string& value) {
    return Take(key, value, &tenant);
  }));
  if (tenant.name.empty()) tenant.name = std::filesystem::path(file).stem().string();
  if (tenant.cgroup.empty() && tenant.name.starts_with('/')) {
    const Status taken = Take("cgroup", tenant.name, &tenant);
    if (!taken.ok()) return At(file, {1, 1}, taken.message());
  }
  if (tenant.cgroup.empty()) {
    return At(file, {1, 1},
              "there is no cgroup; say whose processes it is about: cgroup = \"/...\"");
  }
  return tenant;
}

StatusOr<WantedTenant> ReadTenantFile(const std::string& file) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file, kMostOfAFile));
  return ReadTenant(file, text);
}

StatusOr<Policy> ReadMostOfContainers(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / kContainersFile).string();
  Policy most = kMostOfContainers;
  const StatusOr<std::string> text = ReadSmallFile(file, kMostOfAFile);
  if (absl::IsNotFound(text.status())) return most;
  VS_RETURN_IF_ERROR(text.status());
  VS_RETURN_IF_ERROR(TakeAll(file, *text, [&](std::string_view key, const std::string& value) {
    return SetPolicy(key, value, &most);
  }));
  return most;
}

StatusOr<std::vector<WantedTenant>> ReadConfiguration(const std::string& folder) {
  const std::filesystem::path tenants = std::filesystem::path(folder) / "tenants.d";
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(tenants, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().string();
    // Editors keep other files beside it.
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".toml") && !name.starts_with('.')) files.push_back(file);
  }
  std::vector<WantedTenant> wanted;
  if (error == std::errc::no_such_file_or_directory) return wanted;
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(tenants.string(), ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    VS_ASSIGN_OR_RETURN(WantedTenant tenant, ReadTenantFile(file));
    for (const WantedTenant& other : wanted) {
      if (other.name == tenant.name) {
        return At(
            file, {1, 1},
            absl::StrCat("'", tenant.name, "' is the name of ", other.where, "'s tenant already"));
      }
    }
    wanted.push_back(std::move(tenant));
  }
  return wanted;
}

}  // namespace vramspan::broker
