#include "tools/simcuda/calls_device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/injection.h"

namespace simcuda::calls {
namespace {

constexpr int kPciDomain = 0;

int PciBus(const Device& device) { return 0x10 + device.ordinal(); }

// CUDA_ERROR_INVALID_DEVICE, or the device.
CUresult FindDevice(CUdevice ordinal, Device** device) {
  *device = Driver::Get().device(ordinal);
  return *device != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// Whether a driver of that version knows the attribute; those that tests ask old drivers for.
bool Knows(int version, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return version >= 12090;
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return version >= 13000;
    default:
      return attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX;
  }
}

int AttributeValue(const Device& device, CUdevice_attribute attribute) {
  const Config& config = Driver::Get().config();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return config.compute_capability_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return config.compute_capability_minor;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return config.host_vmm && config.host_vmm_told ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return config.host_vmm && config.host_vmm_told && config.host_anywhere ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
      return config.near_node;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
      return config.stream_ops >= 64 ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
      return config.stream_ops >= 32 ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return PciBus(device);

    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
      return 1;

    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return config.copy_engines;
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
      return CU_MEM_HANDLE_TYPE_NONE;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1 << 10;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1980000;  // kHz, as an H100's
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 2619000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 5120;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
      return 32;
    // Neither of what is left, as on an H100 (PAGEABLE_MEMORY_ACCESS, INTEGRATED,
    // HOST_NATIVE_ATOMIC_SUPPORTED, COMPUTE_MODE, ...) nor of what simcuda does not do (FABRIC
    // handles, dma-buf, GPUDirect RDMA, compression, clusters).
    default:
      return 0;
  }
}

}  // namespace

CUresult Init(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = Driver::Get().Initialize();
  if (result == CUDA_SUCCESS) InjectOnce();
  return result;
}

CUresult DriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = Driver::Get().config().driver_version;
  return CUDA_SUCCESS;
}

// Private tables of the real driver: nothing a program can use without its vendor's headers.
CUresult GetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult DeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Driver::Get().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult DeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = Driver::Get().device_count();
  return CUDA_SUCCESS;
}

CUresult DeviceGetName(char* name, int size, CUdevice ordinal) {
  Device* device;
  if (name == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const std::string& set = Driver::Get().config().device_name;
  if (set.empty()) {
    snprintf(name, static_cast<size_t>(size), "simcuda device %d", device->ordinal());
  } else {
    snprintf(name, static_cast<size_t>(size), "%s", set.c_str());
  }
  return CUDA_SUCCESS;
}

CUresult DeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  Device* device;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  memcpy(uuid->bytes, UuidOf(device->ordinal()).data(), sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

CUresult DeviceGetLuid(char* /*luid*/, unsigned* /*node_mask*/, CUdevice /*device*/) {
  return CUDA_ERROR_NOT_SUPPORTED;  // as everywhere but on Windows
}

CUresult DeviceTotalMem(size_t* bytes, CUdevice ordinal) {
  Device* device;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *bytes = device->memory().limit();
  return CUDA_SUCCESS;
}

CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  Device* device;
  if (value == nullptr || !Knows(Driver::Get().config().driver_version, attribute)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *value = AttributeValue(*device, attribute);
  return CUDA_SUCCESS;
}

CUresult DeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
  Device* device;
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *properties = {};
  properties->maxThreadsPerBlock = 1024;
  const int block[] = {1024, 1024, 64};
  const int grid[] = {2147483647, 65535, 65535};
  std::copy(std::begin(block), std::end(block), properties->maxThreadsDim);
  std::copy(std::begin(grid), std::end(grid), properties->maxGridSize);
  properties->sharedMemPerBlock = 48 << 10;
  properties->totalConstantMemory = 64 << 10;
  properties->SIMDWidth = 32;
  properties->memPitch = 2147483647;
  properties->regsPerBlock = 65536;
  properties->clockRate = 1980000;
  properties->textureAlign = 512;
  return CUDA_SUCCESS;
}

CUresult DeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  Device* device;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *major = Driver::Get().config().compute_capability_major;
  *minor = Driver::Get().config().compute_capability_minor;
  return CUDA_SUCCESS;
}

CUresult DeviceGetPCIBusId(char* id, int size, CUdevice ordinal) {
  Device* device;
  if (id == nullptr || size < 13) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  snprintf(id, static_cast<size_t>(size), "%04X:%02X:00.0", kPciDomain, PciBus(*device));
  return CUDA_SUCCESS;
}

CUresult DeviceGetByPCIBusId(CUdevice* device, const char* id) {
  unsigned domain = 0;
  unsigned bus = 0;
  if (device == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (sscanf(id, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < Driver::Get().device_count(); ++i) {
    if (domain == kPciDomain && static_cast<int>(bus) == PciBus(*Driver::Get().device(i))) {
      *device = i;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult DeviceGetExecAffinitySupport(int* supported, CUexecAffinityType /*type*/,
                                      CUdevice ordinal) {
  Device* device;
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  *supported = 0;
  return CUDA_SUCCESS;
}

// Simulated devices reach each other's memory, as over NVLink, unless SIMCUDA_PEER_ACCESS is 0.
CUresult DeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer_ordinal) {
  Device* device;
  Device* peer;
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindDevice(peer_ordinal, &peer); r != CUDA_SUCCESS) return r;
  *can = device != peer && Driver::Get().peers_reach() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult DeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                               CUdevice destination) {
  Device* from;
  Device* to;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(source, &from); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindDevice(destination, &to); r != CUDA_SUCCESS) return r;
  if (from == to) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  Device* device;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return device->RetainPrimary(context);
}

CUresult DevicePrimaryCtxRelease(CUdevice ordinal) {
  Device* device;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return device->ReleasePrimary();
}

CUresult DevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  Device* device;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return device->SetPrimaryFlags(flags);
}

CUresult DevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  Device* device;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  device->PrimaryState(flags, active);
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxReset(CUdevice ordinal) {
  Device* device;
  if (const CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return device->ResetPrimary();
}

}  // namespace simcuda::calls
