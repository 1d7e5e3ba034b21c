#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_DEVICE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_DEVICE_H_

// Initialisation, devices, versions, errors and the resolver: functions behind rows of
// entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult Init(unsigned flags);
CUresult DriverGetVersion(int* version);
CUresult GetErrorName(CUresult error, const char** name);
CUresult GetErrorString(CUresult error, const char** text);

CUresult GetProcAddressV1(const char* symbol, void** function, int version, cuuint64_t flags);
CUresult GetProcAddressV2(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status);
CUresult GetExportTable(const void** table, const CUuuid* id);

CUresult DeviceGet(CUdevice* device, int ordinal);
CUresult DeviceGetCount(int* count);
CUresult DeviceGetName(char* name, int size, CUdevice device);
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult DeviceGetLuid(char* luid, unsigned* node_mask, CUdevice device);
CUresult DeviceTotalMem(size_t* bytes, CUdevice device);
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult DeviceGetProperties(CUdevprop* properties, CUdevice device);
CUresult DeviceComputeCapability(int* major, int* minor, CUdevice device);
CUresult DeviceGetPCIBusId(char* id, int size, CUdevice device);
CUresult DeviceGetByPCIBusId(CUdevice* device, const char* id);
CUresult DeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device);
CUresult DeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
CUresult DeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                               CUdevice destination);

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult DevicePrimaryCtxRelease(CUdevice device);
CUresult DevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);
CUresult DevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult DevicePrimaryCtxReset(CUdevice device);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_DEVICE_H_
