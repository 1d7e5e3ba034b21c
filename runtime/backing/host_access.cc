#include "runtime/backing/host_access.h"

#include <absl/strings/str_cat.h>

#include <utility>
#include <vector>

#include "runtime/backing/device_pool.h"
#include "runtime/backing/host_pool.h"

namespace vramspan {
namespace {

constexpr uint64_t kWords = kGranularity.value / sizeof(uint64_t);
constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 128;

// The default stream: nothing else runs in this context.
constexpr CUstream kStream = nullptr;

class Probe {
 public:
  Probe(const Driver& driver, const ProbeKernels* kernels, DevicePtr host, DevicePtr device)
      : driver_(driver), kernels_(kernels), host_(host), device_(device) {}

  // A copy fills the chunk, a kernel adds it up.
  StatusOr<bool> Readable() {
    constexpr uint64_t kByte = 0x11;
    constexpr uint64_t kWord = 0x1111111111111111;
    VS_RETURN_IF_ERROR(Fill(host_, kGranularity, kByte));
    VS_RETURN_IF_ERROR(Fill(device_, Bytes(sizeof(uint64_t)), 0));
    uint64_t data = host_.value, words = kWords, total = device_.value;
    void* args[] = {&data, &words, &total};
    VS_RETURN_IF_ERROR(Launch(kernels_->sum, args));
    VS_ASSIGN_OR_RETURN(const uint64_t sum, Read(device_));
    return sum == kWord * kWords;
  }

  // A kernel fills the chunk, a copy looks at both ends.
  StatusOr<bool> Writable() {
    uint64_t data = host_.value, words = kWords, value = 0x0123456789abcdef;
    void* args[] = {&data, &words, &value};
    VS_RETURN_IF_ERROR(Launch(kernels_->fill, args));
    VS_ASSIGN_OR_RETURN(const uint64_t first, Read(host_));
    VS_ASSIGN_OR_RETURN(const uint64_t last, Read(host_ + kGranularity - Bytes(sizeof(uint64_t))));
    return first == value && last == value;
  }

  // A copy to the device reads the chunk.
  StatusOr<bool> Copied() {
    constexpr uint64_t kWord = 0x2222222222222222;
    VS_RETURN_IF_ERROR(Fill(device_, kGranularity, 0));
    VS_RETURN_IF_ERROR(Fill(host_, kGranularity, kWord & 0xff));
    VS_RETURN_IF_ERROR(Copy(device_, host_));
    VS_ASSIGN_OR_RETURN(const uint64_t last,
                        Read(device_ + kGranularity - Bytes(sizeof(uint64_t))));
    return last == kWord;
  }

  // A copy from the device writes the chunk.
  StatusOr<bool> CopiedBack() {
    constexpr uint64_t kWord = 0x3333333333333333;
    VS_RETURN_IF_ERROR(Fill(device_, kGranularity, kWord & 0xff));
    VS_RETURN_IF_ERROR(Copy(host_, device_));
    VS_ASSIGN_OR_RETURN(const uint64_t last, Read(host_ + kGranularity - Bytes(sizeof(uint64_t))));
    return last == kWord;
  }

  StatusOr<bool> Atomic() {
    VS_RETURN_IF_ERROR(Fill(host_, Bytes(sizeof(uint64_t)), 0));
    uint64_t counter = host_.value;
    void* args[] = {&counter};
    VS_RETURN_IF_ERROR(Launch(kernels_->count, args));
    VS_ASSIGN_OR_RETURN(const uint64_t count, Read(host_));
    return count == uint64_t{kBlocks} * kThreads;
  }

 private:
  Status Fill(DevicePtr p, Bytes size, uint64_t byte) {
    return Check(
        driver_->MemsetD8Async(p.value, static_cast<unsigned char>(byte), size.value, kStream),
        "cuMemsetD8Async", RangeText(p, size));
  }

  Status Copy(DevicePtr to, DevicePtr from) {
    return Check(driver_->MemcpyAsync(to.value, from.value, kGranularity.value, kStream),
                 "cuMemcpyAsync", RangeText(from, kGranularity));
  }

  Status Launch(CUfunction kernel, void** args) {
    return Check(
        driver_->LaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, kStream, args, nullptr),
        "cuLaunchKernel");
  }

  StatusOr<uint64_t> Read(DevicePtr p) {
    uint64_t value = 0;
    VS_RETURN_IF_ERROR(Check(driver_->MemcpyDtoHAsync(&value, p.value, sizeof(value), kStream),
                             "cuMemcpyDtoHAsync", RangeText(p, Bytes(sizeof(value)))));
    VS_RETURN_IF_ERROR(Check(driver_->StreamSynchronize(kStream), "cuStreamSynchronize"));
    return value;
  }

  const Driver& driver_;
  const ProbeKernels* const kernels_;
  const DevicePtr host_;
  const DevicePtr device_;
};

}  // namespace

StatusOr<HostAccess> ProbeHostAccess(std::shared_ptr<const Driver> driver,
                                     const Capabilities& device, CUcontext context,
                                     const ProbeKernels* kernels) {
  HostPoolOptions host;
  host.ordinal = device.ordinal;
  host.place = device.host;
  host.context = context;
  host.budget = kGranularity;
  VS_ASSIGN_OR_RETURN(const auto host_pool, HostPool::Create(driver, host));
  VS_ASSIGN_OR_RETURN(const uint32_t host_slot, host_pool->Acquire(kMinChunkLog2));
  DevicePoolOptions on_device;
  on_device.ordinal = device.ordinal;
  on_device.context = context;
  on_device.budget = kGranularity;
  VS_ASSIGN_OR_RETURN(const auto device_pool, DevicePool::Create(driver, on_device));
  VS_ASSIGN_OR_RETURN(const uint32_t device_slot, device_pool->Acquire(kMinChunkLog2));
  VS_ASSIGN_OR_RETURN(const DevicePtr device_alias, device_pool->Alias(device_slot));

  const ScopedContext current(*driver, context);
  VS_RETURN_IF_ERROR(current.status());
  Probe probe(*driver, kernels, host_pool->alias(host_slot), device_alias);
  HostAccess access;
  access.by_kernel = kernels != nullptr;
  struct Step {
    StatusOr<bool> (Probe::*run)();
    const char* what;
    bool* result;
  };
  std::vector<Step> steps;
  if (access.by_kernel) {
    steps = {{&Probe::Readable, "reads of host memory by a kernel", &access.readable},
             {&Probe::Writable, "writes of host memory by a kernel", &access.writable},
             {&Probe::Atomic, "atomics of a kernel on host memory", &access.atomic}};
  } else {
    steps = {{&Probe::Copied, "copies from host memory", &access.readable},
             {&Probe::CopiedBack, "copies to host memory", &access.writable}};
  }
  for (const Step& step : steps) {
    const StatusOr<bool> right = (probe.*step.run)();
    *step.result = right.ok() && *right;
    if (*step.result) continue;
    if (access.failure.empty()) {
      access.failure = right.ok() ? absl::StrCat(step.what, " gave a wrong result")
                                  : absl::StrCat(step.what, " failed: ", right.status().message());
    }
    if (!right.ok()) break;  // The context is as good as dead.
  }
  return access;
}

}  // namespace vramspan
