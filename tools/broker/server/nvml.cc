#include "tools/broker/server/nvml.h"

#include <absl/strings/str_cat.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vramspan::broker {
namespace {

// NVML's own types and numbers: its header need not be there.
using NvmlDevice = struct NvmlDeviceOpaque*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlNotFound = 6;
constexpr int kNvmlInsufficientSize = 7;
constexpr unsigned long long kNotAvailable = ~0ULL;
// Processes may come between two calls. A choice.
constexpr unsigned kMoreProcesses = 64;

struct Functions {
  int (*init)() = nullptr;
  const char* (*error)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
};

template <typename Function>
bool Load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

using Uses = std::map<pid_t, std::optional<Bytes>>;

class Nvml final : public Machine {
 public:
  explicit Nvml(const Functions& functions) : nvml_(functions) {}

  Status Begin() {
    if (const int code = nvml_.init(); code != kNvmlSuccess) return Error("nvmlInit", code);
    unsigned count = 0;
    if (const int code = nvml_.count(&count); code != kNvmlSuccess) {
      return Error("nvmlDeviceGetCount", code);
    }
    for (unsigned i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      std::array<char, 96> text = {};
      int code = nvml_.by_index(i, &device);
      if (code == kNvmlSuccess) code = nvml_.uuid(device, text.data(), text.size());
      if (code != kNvmlSuccess) return Error(absl::StrCat("device ", i), code);
      const std::optional<Uuid> uuid = ParseUuid(text.data());
      if (!uuid)
        return absl::InternalError(absl::StrCat("'", text.data(), "' is no device's UUID"));
      devices_[*uuid] = device;
    }
    return absl::OkStatus();
  }

  std::vector<Uuid> Devices() override {
    std::vector<Uuid> all;
    for (const auto& [uuid, device] : devices_) all.push_back(uuid);
    return all;
  }

  std::optional<Bytes> CapacityOf(const Uuid& uuid) override {
    const auto found = devices_.find(uuid);
    NvmlMemory memory = {};
    if (found == devices_.end() || nvml_.memory(found->second, &memory) != kNvmlSuccess) {
      return std::nullopt;
    }
    return Bytes(memory.total);
  }

  bool sees_use() const override { return true; }

  StatusOr<DeviceUse> Look(const Uuid& uuid) override {
    const auto found = devices_.find(uuid);
    if (found == devices_.end()) return absl::NotFoundError("there is no such device");
    // A process may grow between two calls. Its use before and after is asked for, and the larger
    // counts: what it took must not look like another's.
    VS_ASSIGN_OR_RETURN(const Uses before, Processes(found->second));
    NvmlMemory memory = {};
    if (const int code = nvml_.memory(found->second, &memory); code != kNvmlSuccess) {
      return Error("nvmlDeviceGetMemoryInfo", code);
    }
    VS_ASSIGN_OR_RETURN(Uses uses, Processes(found->second));
    for (const auto& [pid, bytes] : before) {
      const auto [now, is_new] = uses.emplace(pid, bytes);
      if (!is_new && bytes && now->second) now->second = std::max(*now->second, *bytes);
    }
    return DeviceUse{Bytes(memory.total), Bytes(memory.used), std::move(uses)};
  }

 private:
  StatusOr<Uses> Processes(NvmlDevice device) {
    unsigned room = kMoreProcesses;
    for (;;) {
      std::vector<NvmlProcess> infos(room);
      unsigned count = room;
      const int code = nvml_.processes(device, &count, infos.data());
      if (code == kNvmlInsufficientSize && count > 0) {
        room = count + kMoreProcesses;
        continue;
      }
      if (code != kNvmlSuccess) return Error("nvmlDeviceGetComputeRunningProcesses", code);
      Uses uses;
      for (unsigned i = 0; i < std::min(count, room); ++i) {
        const bool known = infos[i].bytes != kNotAvailable;
        std::optional<Bytes>& bytes = uses[static_cast<pid_t>(infos[i].pid)];
        // One may be there once for each of its contexts.
        if (known) bytes = bytes.value_or(Bytes()) + Bytes(infos[i].bytes);
      }
      return uses;
    }
  }

  Status Error(std::string_view what, int code) const {
    const std::string text = absl::StrCat(what, ": ", nvml_.error(code));
    return code == kNvmlNotFound ? absl::NotFoundError(text) : absl::UnavailableError(text);
  }

  const Functions nvml_;
  std::map<Uuid, NvmlDevice> devices_;
};

}  // namespace

StatusOr<std::unique_ptr<Machine>> OpenNvml() {
  // Never closed: the daemon needs it until it ends.
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return absl::NotFoundError(absl::StrCat("NVML cannot be opened: ", dlerror()));
  Functions f;
  const bool all = Load(library, "nvmlInit_v2", &f.init) &&
                   Load(library, "nvmlErrorString", &f.error) &&
                   Load(library, "nvmlDeviceGetCount_v2", &f.count) &&
                   Load(library, "nvmlDeviceGetHandleByIndex_v2", &f.by_index) &&
                   Load(library, "nvmlDeviceGetUUID", &f.uuid) &&
                   Load(library, "nvmlDeviceGetMemoryInfo", &f.memory) &&
                   (Load(library, "nvmlDeviceGetComputeRunningProcesses_v3", &f.processes) ||
                    Load(library, "nvmlDeviceGetComputeRunningProcesses_v2", &f.processes));
  if (!all) return absl::FailedPreconditionError("NVML is too old: a function is missing");
  auto nvml = std::make_unique<Nvml>(f);
  VS_RETURN_IF_ERROR(nvml->Begin());
  return std::unique_ptr<Machine>(std::move(nvml));
}

}  // namespace vramspan::broker
