#include "tools/vramspan/info_host.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <gnu/libc-version.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/backing/host_room.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/driver/surroundings.h"

namespace vramspan::info {
namespace {

constexpr size_t kLongest = 100;
constexpr std::streamsize kMostOfFile = 4096;

// The beginning of a file, which may be a link; empty where there is none.
std::string Beginning(const std::string& path) {
  std::ifstream file(path);
  std::string text(static_cast<size_t>(kMostOfFile), '\0');
  file.read(text.data(), kMostOfFile);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string OneLine(std::string_view text) {
  return CleanText(absl::StripAsciiWhitespace(text), kLongest);
}

std::string Distribution(const std::string& root) {
  for (const std::string_view line : absl::StrSplit(Beginning(root + "/etc/os-release"), '\n')) {
    std::string_view name = line;
    if (!absl::ConsumePrefix(&name, "PRETTY_NAME=")) continue;
    absl::ConsumePrefix(&name, "\"");
    absl::ConsumeSuffix(&name, "\"");
    return OneLine(name);
  }
  return "";
}

std::string Container(const std::string& root) {
  std::error_code ignored;
  if (std::filesystem::exists(root + "/.dockerenv", ignored)) return "docker";
  if (std::filesystem::exists(root + "/run/.containerenv", ignored)) return "podman";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (std::getenv("APPTAINER_CONTAINER") != nullptr) return "apptainer";
  return "";
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...": the first word of digits
// and dots.
std::string Module(const std::string& root) {
  const std::string text = Beginning(root + "/proc/driver/nvidia/version");
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  for (const std::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (absl::StrContains(word, '.') &&
        word.find_first_not_of("0123456789.") == std::string_view::npos) {
      return OneLine(word);
    }
  }
  return "";
}

}  // namespace

HostReport ReadHost(const std::string& root) {
  HostReport host;
  utsname system{};
  if (uname(&system) == 0) {
    host.kernel = OneLine(system.release);
    host.machine = OneLine(system.machine);
  }
  host.distribution = Distribution(root);
  host.glibc = OneLine(gnu_get_libc_version());
  host.container = Container(root);
  host.module = Module(root);
  const auto limits = ReadHostLimits(root);
  if (limits.ok()) {
    host.limits = *limits;
    host.pinnable = RoomToPin(*limits);
  } else {
    Log(LogLevel::kWarning, limits.status().message());
  }
  rlimit memlock{};
  if (getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 && memlock.rlim_cur != RLIM_INFINITY) {
    host.memlock = Bytes(memlock.rlim_cur);
  }
  return host;
}

std::string PciLinkText(const std::string& bus, const std::string& root) {
  // Of a driver, but it becomes a part of a path.
  if (bus.empty() || bus.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos) {
    return "";
  }
  const std::string folder =
      absl::StrCat(root, "/sys/bus/pci/devices/", absl::AsciiStrToLower(bus));
  const auto read = [&](const char* name) {
    return OneLine(Beginning(absl::StrCat(folder, "/", name)));
  };
  const std::string width = read("current_link_width"), most = read("max_link_width");
  std::string speed = read("max_link_speed");
  if (width.empty() || width == "0") return "";
  std::string text = absl::StrCat("PCIe x", width);
  if (!most.empty() && most != width) absl::StrAppend(&text, " of x", most);
  if (!speed.empty()) absl::StrAppend(&text, ", up to ", absl::StripSuffix(speed, " PCIe"));
  return text;
}

std::string WhereDriversComeFrom(const std::string& root) {
  if (KernelIsWsl(root)) return "; under WSL2 Windows' NVIDIA driver brings it";
  if (Container(root).empty()) return "";
  return "; to a container the NVIDIA container toolkit brings it (docker run --gpus all)";
}

std::string SizeText(Bytes bytes) {
  if (bytes == Bytes(0)) return "none";
  if (bytes >= GiB(1)) {
    return absl::StrFormat("%.1f GiB", static_cast<double>(bytes.value) / (1 << 30));
  }
  if (bytes < MiB(1)) return absl::StrFormat("%d KiB", (bytes.value + 1023) >> 10);
  return absl::StrFormat("%d MiB", bytes.value >> 20);
}

std::string SystemText(const HostReport& host) {
  std::vector<std::string> parts = {absl::StrCat("Linux ", host.kernel, " ", host.machine)};
  if (!host.distribution.empty()) parts.push_back(host.distribution);
  parts.push_back(absl::StrCat("glibc ", host.glibc));
  if (!host.module.empty()) parts.push_back(absl::StrCat("NVIDIA's module ", host.module));
  if (!host.container.empty())
    parts.push_back(absl::StrCat("in a container (", host.container, ")"));
  std::string text;
  for (const std::string& part : parts) absl::StrAppend(&text, text.empty() ? "" : ", ", part);
  return text;
}

std::string HostMemoryText(const HostReport& host) {
  if (!host.limits.has_value()) return "unknown: the kernel does not tell";
  const HostLimits& limits = *host.limits;
  std::string text =
      absl::StrCat(SizeText(limits.available), " of ", SizeText(limits.total), " available");
  absl::StrAppend(&text, "; ",
                  limits.cgroup_room.has_value()
                      ? absl::StrCat(limits.cgroup_file, " leaves ", SizeText(*limits.cgroup_room))
                      : "no cgroup limits it");
  absl::StrAppend(&text, "; may be pinned now: ", SizeText(*host.pinnable));
  return text;
}

std::string LockedText(const HostReport& host, Bytes pinned) {
  std::string text = "what spills is pinned by the driver, and never swapped; ";
  if (!host.memlock.has_value()) return text + "memlock is unlimited";
  const std::string limit = absl::StrCat("memlock (", SizeText(*host.memlock), ") ");
  if (pinned > *host.memlock) {
    return absl::StrCat(text, limit, "does not bind: ", SizeText(pinned), " were pinned at once");
  }
  return absl::StrCat(text, limit, "was not reached here");
}

}  // namespace vramspan::info
