#include "runtime/driver/driver.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

// cuCtxCreate_v4 is the newest entry point of the table.
constexpr int kOldestVersion = 12050;

std::atomic<Driver::FindSymbol> find_symbol{nullptr};

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

StatusOr<std::shared_ptr<const Driver>> Driver::Load(const std::string& path) {
  std::string name = path;
  if (name.empty()) {
    const char* env = std::getenv("VRAMSPAN_DRIVER");
    name = env != nullptr && *env != '\0' ? env : "libcuda.so.1";
  }
  std::shared_ptr<Driver> driver(new Driver());
  driver->path_ = name;
  driver->library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver->library_ == nullptr) {
    const char* why = dlerror();
    return absl::NotFoundError(absl::StrCat("no CUDA driver: opening ", name, " failed (",
                                            why != nullptr ? why : "unknown reason",
                                            "); install the NVIDIA driver, or use the simulated "
                                            "one (--simulate, or VRAMSPAN_DRIVER=)"));
  }
  const auto get_version =
      reinterpret_cast<decltype(&cuDriverGetVersion)>(driver->Symbol("cuDriverGetVersion"));
  if (get_version == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is not a CUDA driver: it has no cuDriverGetVersion"));
  }
  VS_RETURN_IF_ERROR(Check(get_version(&driver->version_), "cuDriverGetVersion", name));
  if (driver->version_ < kOldestVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA driver ", name, " has version ", VersionText(driver->version_),
                     ", and vramspan needs ", VersionText(kOldestVersion),
                     " or newer; update the NVIDIA driver"));
  }
#define VS_X(field, symbol)                                                            \
  driver->api_.field = reinterpret_cast<decltype(&::symbol)>(driver->Symbol(#symbol)); \
  if (driver->api_.field == nullptr) {                                                 \
    return absl::FailedPreconditionError(                                              \
        absl::StrCat("the CUDA driver ", name, " (", VersionText(driver->version_),    \
                     ") has no " #symbol "; update the NVIDIA driver"));               \
  }
  VRAMSPAN_DRIVER_CALLS(VS_X)
#undef VS_X
  VS_RETURN_IF_ERROR(Check(driver->api_.Init(0), "cuInit", "0"));
  return std::shared_ptr<const Driver>(std::move(driver));
}

void Driver::FindSymbolsWith(FindSymbol find) {
  find_symbol.store(find, std::memory_order_relaxed);
}

void* Driver::Symbol(const char* name) const {
  const FindSymbol find = find_symbol.load(std::memory_order_relaxed);
  return find != nullptr ? find(library_, name) : dlsym(library_, name);
}

void Driver::RecordBackgroundError(const Status& status) const {
  if (status.ok()) return;
  Log(LogLevel::kWarning, status.message());
  NoteError(status);
}

void Driver::NoteError(const Status& status) const {
  MutexLock lock(noted_mu_);
  noted_.Update(status);
}

Status Driver::TakeNoted() const {
  MutexLock lock(noted_mu_);
  return std::exchange(noted_, absl::OkStatus());
}

std::string RangeText(DevicePtr ptr, Bytes size) {
  return absl::StrFormat("0x%x+%d", ptr.value, size.value);
}

ScopedRelaxed::ScopedRelaxed(const Driver& driver) : driver_(driver) {
  status_ = Check(driver_->ThreadExchangeStreamCaptureMode(&mode_),
                  "cuThreadExchangeStreamCaptureMode", "relaxed");
}

ScopedRelaxed::~ScopedRelaxed() {
  if (!status_.ok()) return;
  driver_.RecordBackgroundError(Check(driver_->ThreadExchangeStreamCaptureMode(&mode_),
                                      "cuThreadExchangeStreamCaptureMode", "back"));
}

ScopedContext::ScopedContext(const Driver& driver, CUcontext context) : driver_(driver) {
  status_ = Check(driver_->CtxPushCurrent(context), "cuCtxPushCurrent");
  if (!status_.ok()) return;
  pushed_ = true;
  status_ = relaxed_.emplace(driver).status();
}

ScopedContext::~ScopedContext() {
  if (!pushed_) return;
  relaxed_.reset();
  CUcontext popped = nullptr;
  driver_.RecordBackgroundError(Check(driver_->CtxPopCurrent(&popped), "cuCtxPopCurrent"));
}

std::string KernelName(const Driver& driver, const void* code) {
  const char* name = nullptr;
  void* const handle = const_cast<void*>(code);
  if (handle == nullptr) return "(a launch that cannot be read)";
  if (driver->KernelGetName(&name, static_cast<CUkernel>(handle)) == CUDA_SUCCESS ||
      driver->FuncGetName(&name, static_cast<CUfunction>(handle)) == CUDA_SUCCESS) {
    return name;
  }
  return "(a kernel without a name)";
}

}  // namespace vramspan
