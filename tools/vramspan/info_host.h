// What of the machine decides how well vramspan works on it, beside the devices: memory, limits,
// and what stands between the program and the hardware.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_HOST_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_HOST_H_

#include <optional>
#include <string>

#include "runtime/backing/host_limits.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan::info {

struct HostReport {
  std::string kernel;        // "6.1.0-28-amd64".
  std::string distribution;  // "Debian GNU/Linux 12 (bookworm)"; empty where nothing says it.
  std::string glibc;
  std::string machine;    // "x86_64".
  std::string container;  // "docker"; empty where nothing says that this is one.
  std::string module;     // The kernel's part of the driver, "580.159.04".
  std::optional<HostLimits> limits;
  std::optional<Bytes> pinnable;  // What may be pinned now.
  std::optional<Bytes> memlock;   // RLIMIT_MEMLOCK; none: no limit.
};

// `root` is prepended to every path, for tests. Failures to read are warnings.
HostReport ReadHost(const std::string& root = {});

// "PCIe x8 of x16, up to 16.0 GT/s"; empty where the kernel shows no such device. `bus` as the
// driver writes it.
std::string PciLinkText(const std::string& bus, const std::string& root = {});

// Lines of the table, each with what it says. `pinned`: what was pinned at once here.
std::string SystemText(const HostReport& host);
std::string HostMemoryText(const HostReport& host);
std::string LockedText(const HostReport& host, Bytes pinned);

// The end of a sentence that says that there is no driver: who brings it to WSL2 and to containers.
std::string WhereDriversComeFrom(const std::string& root = {});

std::string SizeText(Bytes bytes);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_HOST_H_
