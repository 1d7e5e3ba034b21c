#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_CONTEXT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_CONTEXT_H_

// Contexts: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult CtxCreateV2(CUcontext* context, unsigned flags, CUdevice device);
CUresult CtxCreateV3(CUcontext* context, CUexecAffinityParam* params, int count, unsigned flags,
                     CUdevice device);
CUresult CtxCreateV4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                     CUdevice device);
CUresult CtxDestroy(CUcontext context);
CUresult CtxPushCurrent(CUcontext context);
CUresult CtxPopCurrent(CUcontext* context);
CUresult CtxSetCurrent(CUcontext context);
CUresult CtxGetCurrent(CUcontext* context);
CUresult CtxGetDevice(CUdevice* device);
CUresult CtxGetDeviceV2(CUdevice* device, CUcontext context);
CUresult CtxGetFlags(unsigned* flags);
CUresult CtxSetFlags(unsigned flags);
CUresult CtxGetId(CUcontext context, unsigned long long* id);
CUresult CtxSynchronize();
CUresult CtxSynchronizeV2(CUcontext context);
CUresult CtxSetLimit(CUlimit limit, size_t value);
CUresult CtxGetLimit(size_t* value, CUlimit limit);
CUresult CtxGetCacheConfig(CUfunc_cache* config);
CUresult CtxSetCacheConfig(CUfunc_cache config);
CUresult CtxGetApiVersion(CUcontext context, unsigned* version);
CUresult CtxGetStreamPriorityRange(int* least, int* greatest);
CUresult CtxResetPersistingL2Cache();
CUresult CtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult CtxDisablePeerAccess(CUcontext peer);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_CONTEXT_H_
