#include "tools/vramspan/open_driver.h"

#include <absl/strings/str_cat.h>

#include <filesystem>
#include <system_error>

namespace vramspan {

StatusOr<std::string> SimulatedDriver() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("cannot tell where this binary is: /proc/self/exe: ", error.message()));
  }
  std::string looked;
  for (const char* place : {"../lib/simcuda/libcuda.so.1", VRAMSPAN_SIMCUDA_INSTALLED}) {
    const std::filesystem::path path = (self.parent_path() / place).lexically_normal();
    if (std::filesystem::is_regular_file(path, error)) return path.string();
    absl::StrAppend(&looked, looked.empty() ? "" : " nor at ", path.string());
  }
  return absl::NotFoundError(
      absl::StrCat("the simulated driver is neither at ", looked,
                   "; build the target simcuda, or name a library in VRAMSPAN_DRIVER"));
}

StatusOr<std::shared_ptr<const Driver>> OpenDriver(bool simulate) {
  if (!simulate) return Driver::Load();
  VS_ASSIGN_OR_RETURN(const std::string path, SimulatedDriver());
  return Driver::Load(path);
}

bool IsSimulated(const Driver& driver) { return driver.Symbol("simcudaReset") != nullptr; }

}  // namespace vramspan
