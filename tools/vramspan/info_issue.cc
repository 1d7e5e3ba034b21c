#include "tools/vramspan/info_issue.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/info_format.h"
#include "tools/vramspan/info_verdict.h"
#include "tools/vramspan/redact.h"

namespace vramspan::info {
namespace {

constexpr size_t kMostVariables = 50;
constexpr size_t kLongestVariable = 60;

// The names alone, in order.
std::string OwnVariables() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view name =
        std::string_view(*variable).substr(0, std::string_view(*variable).find('='));
    if (!absl::StartsWith(name, "VRAMSPAN_") || names.size() == kMostVariables) continue;
    names.push_back(CleanText(name, kLongestVariable));
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, text.empty() ? "" : ", ", name);
  return text.empty() ? "none" : text;
}

// In a fence, so that it is shown as it is.
std::string Block(const HostReport& host, std::string_view verdict, std::string_view rest) {
  std::string text = absl::StrCat("vramspan ", VRAMSPAN_VERSION_TEXT, ": ", verdict, "\n\n");
  Line(&text, "system", SystemText(host));
  Line(&text, "host memory", HostMemoryText(host));
  Line(&text, "variables set", OwnVariables());
  absl::StrAppend(&text, rest);
  // No text from elsewhere ends the fence.
  std::string fence = "```";
  while (absl::StrContains(text, fence)) fence.push_back('`');
  return absl::StrCat(fence, "text\n", Redact(text, OwnSecrets()), fence, "\n");
}

}  // namespace

std::string ToIssue(const Report& report) {
  Report shown = report;
  for (TrustSource& source : shown.trust) {
    if (&source != &shown.trust.front()) {
      source.name = "a file";
      if (!source.read.ok()) source.read = absl::UnknownError("it cannot be used");
    }
  }
  if (shown.code_reader.ok()) shown.code_reader = "an nvdisasm";
  for (DeviceReport& d : shown.devices) {
    d.capabilities.uuid.clear();
    if (d.costs.has_value()) d.costs_note = d.costs_cached ? "measured before" : "just measured";
  }
  // Where in the tree of cgroups a session or a container is names it.
  if (shown.host.limits.has_value()) {
    std::string& file = shown.host.limits->cgroup_file;
    file = absl::StrCat("a cgroup's ", file.substr(file.rfind('/') + 1));
  }
  std::string rest;
  DriverLines(&rest, shown);
  for (const DeviceReport& d : shown.devices) DeviceTable(&rest, d);
  return Block(shown.host, Verdict(shown), rest);
}

std::string ToIssue(const Status& why) {
  HostReport host = ReadHost();
  if (host.limits.has_value()) host.limits->cgroup_file = "a cgroup";
  return Block(host, absl::StrCat("does NOT work here: ", why.message()), "");
}

}  // namespace vramspan::info
