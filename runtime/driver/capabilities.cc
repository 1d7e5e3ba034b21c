// What a device can do, and whether that is enough (driver.h).
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "runtime/driver/driver.h"
#include "runtime/driver/surroundings.h"

namespace vramspan {
namespace {

Status ReadAttribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute,
                     const char* name, int* value) {
  const CUresult result = driver->DeviceGetAttribute(value, attribute, device);
  if (result == CUDA_ERROR_INVALID_VALUE) {
    *value = 0;  // An attribute that this driver does not know: the feature is not there.
    return absl::OkStatus();
  }
  return Check(result, "cuDeviceGetAttribute", name);
}

std::string UuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    absl::StrAppend(&text, absl::Hex(static_cast<unsigned char>(uuid.bytes[i]), absl::kZeroPad2));
  }
  return text;
}

StatusOr<Bytes> DeviceGranularity(const Driver& driver, int ordinal) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = ordinal;
  size_t bytes = 0;
  VS_RETURN_IF_ERROR(Check(
      driver->MemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
      "cuMemGetAllocationGranularity"));
  return Bytes(bytes);
}

}  // namespace

StatusOr<Capabilities> ReadCapabilities(const Driver& driver, int ordinal) {
  Capabilities c;
  c.ordinal = ordinal;
  CUdevice device = 0;
  VS_RETURN_IF_ERROR(
      Check(driver->DeviceGet(&device, ordinal), "cuDeviceGet", absl::StrCat(ordinal)));
  char name[256] = {};
  VS_RETURN_IF_ERROR(Check(driver->DeviceGetName(name, sizeof(name), device), "cuDeviceGetName"));
  c.name = name;
  CUuuid uuid{};
  VS_RETURN_IF_ERROR(Check(driver->DeviceGetUuid(&uuid, device), "cuDeviceGetUuid"));
  c.uuid = UuidText(uuid);
  size_t total = 0;
  VS_RETURN_IF_ERROR(Check(driver->DeviceTotalMem(&total, device), "cuDeviceTotalMem"));
  c.total_memory = Bytes(total);

  int vmm = 0, host_numa = 0, wide = 0, posix_fd = 0, rdma = 0, node = 0;
  int memory_khz = 0, memory_bits = 0;
  const struct {
    CUdevice_attribute attribute;
    const char* name;
    int* value;
  } attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "COMPUTE_CAPABILITY_MAJOR", &c.compute_major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "COMPUTE_CAPABILITY_MINOR", &c.compute_minor},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "VIRTUAL_MEMORY_MANAGEMENT", &vmm},
      {CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
       "HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT", &host_numa},
      {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, "HOST_NUMA_ID", &node},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "CAN_USE_64_BIT_STREAM_MEM_OPS", &wide},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "POSIX_FILE_DESCRIPTOR",
       &posix_fd},
      {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, "GPU_DIRECT_RDMA_WITH_VMM",
       &rdma},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, "ASYNC_ENGINE_COUNT", &c.async_engines},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "MEMORY_CLOCK_RATE", &memory_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, "GLOBAL_MEMORY_BUS_WIDTH", &memory_bits},
  };
  for (const auto& a : attributes) {
    VS_RETURN_IF_ERROR(ReadAttribute(driver, device, a.attribute, a.name, a.value));
  }
  c.vmm = vmm != 0;
  c.host_numa_vmm = host_numa != 0;
  c.wide_stream_ops = wide != 0;
  c.posix_fd = posix_fd != 0;
  c.gpu_direct_rdma = rdma != 0;
  // Such memory sends twice in a clock.
  c.memory_gb_per_s = 2e-6 * memory_khz * (memory_bits / 8.0);
  // A machine with one node reports 0; one whose device has no near node reports -1: take 0 then.
  c.host_numa_id = node < 0 ? 0 : node;
  if (c.vmm) {
    VS_ASSIGN_OR_RETURN(c.device_granularity, DeviceGranularity(driver, ordinal));
  }
  c.host.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  c.host.id = c.host_numa_id;
  return c;
}

Status CanWork(const Driver& driver, const Capabilities& d) {
  const std::string who = absl::StrCat("device ", d.ordinal, " (", d.name, ")");
  if (!d.vmm) {
    const bool elsewhere = UnderWsl(driver) || KindOfDevice(d.name) == DeviceKind::kVgpu;
    return absl::FailedPreconditionError(
        absl::StrCat(who, " has no virtual memory management (cuMemCreate, cuMemMap); ",
                     elsewhere ? WhatHelps(driver, d.name) : "use a Volta or newer GPU"));
  }
  if (d.device_granularity > kGranularity) {
    return absl::FailedPreconditionError(absl::StrCat(who, " maps memory in units of ",
                                                      d.device_granularity.value >> 20,
                                                      " MiB; vramspan's chunks start at 2 MiB"));
  }
  return absl::OkStatus();
}

}  // namespace vramspan
