#include "tools/reader/first_process.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/base/clean_text.h"
#include "runtime/base/small_file.h"

namespace vramspan::reader {
namespace {

constexpr size_t kMostName = 64, kMostStatus = size_t{16} << 10;
// Shells wait for whatever child ends while they wait for one of their own.
constexpr std::array<std::string_view, 15> kWait = {
    "systemd",     "init",        "tini",      "docker-init", "dumb-init",
    "catatonit",   "podman-init", "s6-svscan", "runit",       "runsvdir",
    "supervisord", "bash",        "dash",      "sh",          "ash"};

// The kernel keeps nothing of children whose ends are ignored.
bool IgnoresEnds(const std::string& status) {
  const StatusOr<std::string> text = ReadSmallFile(status, kMostStatus);
  if (!text.ok()) return false;
  for (std::string_view line : absl::StrSplit(*text, '\n')) {
    uint64_t ignored = 0;
    if (!absl::ConsumePrefix(&line, "SigIgn:")) continue;
    return absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &ignored) &&
           (ignored >> (SIGCHLD - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

Status CheckFirstProcess(const std::string& comm, const std::string& status) {
  const StatusOr<std::string> text = ReadSmallFile(comm, kMostName);
  if (!text.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the first process is not to be seen: ", text.status().message()));
  }
  const std::string_view name = absl::StripSuffix(*text, "\n");
  if (std::find(kWait.begin(), kWait.end(), name) != kWait.end() || IgnoresEnds(status)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the first process is ", CleanText(name),
                   ", which may not wait for orphans (docker run --init; --read on)"));
}

}  // namespace vramspan::reader
