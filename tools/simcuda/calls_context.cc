#include "tools/simcuda/calls_context.h"

#include <utility>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

// Null means the current context. CUDA_ERROR_INVALID_CONTEXT where there is none.
CUresult FindContext(CUcontext handle, ContextPtr* context) {
  *context = handle == nullptr ? CurrentContext() : Driver::Get().contexts().Find(handle);
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult Synchronize(Context& context) {
  CUresult result = capture::CheckLegacyCall(context, /*synchronous=*/true);
  if (result == CUDA_SUCCESS) result = capture::CheckUnsafeCall();
  if (result != CUDA_SUCCESS) return result;
  context.WaitIdle();
  return context.error();
}

}  // namespace

CUresult CtxCreateV2(CUcontext* handle, unsigned flags, CUdevice ordinal) {
  if (handle == nullptr || (flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = Driver::Get().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  ContextPtr context = Context::Create(*device, flags, /*primary=*/false);
  if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
  context->set_handle(Driver::Get().contexts().NewHandle());
  Driver::Get().contexts().InsertAs(context->handle(), context);
  *handle = context->handle();
  Thread::Self().contexts.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult CtxCreateV3(CUcontext* handle, CUexecAffinityParam* /*params*/, int count, unsigned flags,
                     CUdevice ordinal) {
  if (count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return CtxCreateV2(handle, flags, ordinal);
}

CUresult CtxCreateV4(CUcontext* handle, CUctxCreateParams* params, unsigned flags,
                     CUdevice ordinal) {
  if (params != nullptr && params->numExecAffinityParams != 0) {
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return CtxCreateV2(handle, flags, ordinal);
}

CUresult CtxDestroy(CUcontext handle) {
  const ContextPtr context = Driver::Get().contexts().Find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->primary()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!Driver::Get().contexts().RemoveKept(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  Thread& thread = Thread::Self();
  if (!thread.contexts.empty() && thread.contexts.back() == context) thread.contexts.pop_back();
  context->Destroy();
  // What is the context's goes by its handle until then.
  Driver::Get().contexts().Recycle(handle);
  return CUDA_SUCCESS;
}

CUresult CtxPushCurrent(CUcontext handle) {
  ContextPtr context = Driver::Get().contexts().Find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  Thread::Self().contexts.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult CtxPopCurrent(CUcontext* handle) {
  Thread& thread = Thread::Self();
  if (thread.contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) {
    *handle = thread.contexts.back() ? thread.contexts.back()->handle() : nullptr;
  }
  thread.contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult CtxSetCurrent(CUcontext handle) {
  ContextPtr context;
  if (handle != nullptr) {
    context = Driver::Get().contexts().Find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  }
  Thread& thread = Thread::Self();
  if (!thread.contexts.empty()) thread.contexts.pop_back();
  if (context) thread.contexts.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult CtxGetCurrent(CUcontext* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ContextPtr context = CurrentContext();
  *handle = context ? context->handle() : nullptr;
  return CUDA_SUCCESS;
}

CUresult CtxGetDevice(CUdevice* device) { return CtxGetDeviceV2(device, nullptr); }

CUresult CtxGetDeviceV2(CUdevice* device, CUcontext handle) {
  ContextPtr context;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindContext(handle, &context); r != CUDA_SUCCESS) return r;
  *device = context->device().ordinal();
  return CUDA_SUCCESS;
}

CUresult CtxGetFlags(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CurrentContext()->flags();
  return CUDA_SUCCESS;
}

CUresult CtxSetFlags(unsigned flags) {
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  CurrentContext()->set_flags(flags);
  return CUDA_SUCCESS;
}

CUresult CtxGetId(CUcontext handle, unsigned long long* id) {
  ContextPtr context;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindContext(handle, &context); r != CUDA_SUCCESS) return r;
  *id = context->id();
  return CUDA_SUCCESS;
}

CUresult CtxSynchronize() { return Synchronize(*CurrentContext()); }

CUresult CtxSynchronizeV2(CUcontext handle) {
  ContextPtr context;
  if (const CUresult r = FindContext(handle, &context); r != CUDA_SUCCESS) return r;
  return Synchronize(*context);
}

// Limits bound nothing in simcuda; programs set and read them all the same.
CUresult CtxSetLimit(CUlimit limit, size_t /*value*/) {
  return limit >= 0 && limit < CU_LIMIT_MAX ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult CtxGetLimit(size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      *value = 1024;
      return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      *value = size_t{1} << 20;
      return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      *value = size_t{8} << 20;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return limit >= 0 && limit < CU_LIMIT_MAX ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
}

CUresult CtxGetCacheConfig(CUfunc_cache* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult CtxSetCacheConfig(CUfunc_cache /*config*/) { return CUDA_SUCCESS; }

CUresult CtxGetApiVersion(CUcontext handle, unsigned* version) {
  ContextPtr context;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindContext(handle, &context); r != CUDA_SUCCESS) return r;
  *version = 3020;  // the ABI generation, not the driver's version
  return CUDA_SUCCESS;
}

CUresult CtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult CtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

CUresult CtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  const ContextPtr peer = Driver::Get().contexts().Find(handle);
  if (!peer) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (&peer->device() == &CurrentContext()->device()) return CUDA_ERROR_INVALID_DEVICE;
  if (!Driver::Get().peers_reach()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return CurrentContext()->EnablePeer(*peer);
}

CUresult CtxDisablePeerAccess(CUcontext handle) {
  const ContextPtr peer = Driver::Get().contexts().Find(handle);
  return peer ? CurrentContext()->DisablePeer(*peer) : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace simcuda::calls
