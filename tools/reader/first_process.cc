#include "tools/reader/first_process.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/base/clean_text.h"
#include "runtime/base/small_file.h"

namespace vramspan::reader {
namespace {

constexpr size_t kMostName = 64;
constexpr std::array<std::string_view, 11> kWait = {
    "systemd",     "init",      "tini",  "docker-init", "dumb-init",  "catatonit",
    "podman-init", "s6-svscan", "runit", "runsvdir",    "supervisord"};

}  // namespace

Status CheckFirstProcess(const std::string& comm) {
  const StatusOr<std::string> text = ReadSmallFile(comm, kMostName);
  if (!text.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the first process is not to be seen: ", text.status().message()));
  }
  const std::string_view name = absl::StripSuffix(*text, "\n");
  if (std::find(kWait.begin(), kWait.end(), name) != kWait.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the first process is ", CleanText(name),
                   ", which may not wait for orphans (docker run --init; --read on)"));
}

}  // namespace vramspan::reader
