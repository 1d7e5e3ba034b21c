#include "runtime/driver/surroundings.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <dlfcn.h>

#include <cstddef>

#include "runtime/base/small_file.h"

namespace vramspan {
namespace {

constexpr size_t kLongestName = 4096;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The profile of a vGPU: a dash, the GiB, and what it is for, of a MIG instance with "ME" behind.
bool EndsInProfile(std::string_view name) {
  if (absl::EndsWith(name, "ME")) name.remove_suffix(2);
  if (name.empty() || std::string_view("ABCQ").find(name.back()) == std::string_view::npos) {
    return false;
  }
  name.remove_suffix(1);
  const size_t all = name.size();
  while (!name.empty() && IsDigit(name.back())) name.remove_suffix(1);
  return name.size() < all && !name.empty() && name.back() == '-';
}

// The driver's file, as the loader found it.
std::string_view FileOf(const Driver& driver) {
  Dl_info info{};
  const void* const function = reinterpret_cast<const void*>(driver->Init);
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

DeviceKind KindOfDevice(std::string_view name) {
  if (absl::StrContains(name, " MIG ")) return DeviceKind::kMig;
  return EndsInProfile(name) ? DeviceKind::kVgpu : DeviceKind::kCard;
}

bool KernelIsWsl(const std::string& root) {
  const auto release = ReadSmallFile(root + "/proc/sys/kernel/osrelease", kLongestName);
  return release.ok() && absl::StrContains(absl::AsciiStrToLower(*release), "microsoft");
}

bool UnderWsl(const Driver& driver, const std::string& root) {
  const std::string_view file = FileOf(driver);
  return KernelIsWsl(root) || absl::StrContains(file, "/wsl/lib/") ||
         absl::StrContains(file, "/wsl/drivers/");
}

std::string SurroundingsText(const Driver& driver, std::string_view device_name,
                             const std::string& root) {
  std::string text;
  const DeviceKind kind = KindOfDevice(device_name);
  if (kind == DeviceKind::kMig) text = "a MIG instance";
  if (kind == DeviceKind::kVgpu) text = "a vGPU";
  if (UnderWsl(driver, root)) absl::StrAppend(&text, text.empty() ? "" : ", ", "under WSL2");
  return text;
}

std::string WhatHelps(const Driver& driver, std::string_view device_name, const std::string& root) {
  if (UnderWsl(driver, root)) {
    return "under WSL2 Windows' driver decides, and none was seen to allow it; run on Linux itself";
  }
  if (KindOfDevice(device_name) == DeviceKind::kVgpu) {
    return "this is a vGPU, and its host decides what it may do; ask its administrator";
  }
  if (driver.version() < 13000) return "update the NVIDIA driver to R580 or newer";
  return "please report it with what `vramspan info --format issue` prints";
}

}  // namespace vramspan
