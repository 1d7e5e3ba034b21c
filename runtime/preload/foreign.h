// Memory that is not ours: hooks that let it pass and count it, and that help where the device has
// no room for it because vramspan filled it. Then chunks are given back, a step at a time, and the
// call is made again, until it succeeds or there is nothing more to give. What the budget was
// lowered by for that comes back when such memory is freed.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_FOREIGN_H_
#define VRAMSPAN_RUNTIME_PRELOAD_FOREIGN_H_

#include <cstddef>
#include <vector>

#include "runtime/api/statistics_text.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan {
class Runtime;
}

namespace vramspan::preload {

// What passes by, by kind. As `Count` takes it in.
enum class Foreign { kManaged, kPinnedHost, kArray, kHandle, kPool, kCount };
void Count(Foreign kind, size_t bytes);
// What has been counted, for the statistics.
std::vector<PassedMemory> CountedMemory();

// Gives device memory of the current context's device back to the driver, at least `bytes` where
// that is known. `step` counts the calls for one allocation from 0. False: there is no more.
bool GiveBack(size_t bytes, int step);
// After a call that may have freed memory of others: budgets that were lowered rise again, as far
// as there is room now. One load where none is lowered.
void TakeBack();
// The runtime ends; another may come to be at its address.
void ForgetLowered(const Runtime* runtime);

template <typename Call>
CUresult WithRescue(size_t bytes, Call call) {
  CUresult result = call();
  for (int step = 0; result == CUDA_ERROR_OUT_OF_MEMORY && GiveBack(bytes, step); ++step) {
    result = call();
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) TakeBack();  // It was in vain.
  return result;
}

template <typename Call>
CUresult WithReturn(Call call) {
  const CUresult result = call();
  if (result == CUDA_SUCCESS) TakeBack();
  return result;
}

// The hook of a call that may allocate device memory and does nothing else of interest.
template <typename Function>
struct Rescued;
template <typename... Args>
struct Rescued<CUresult (*)(Args...)> {
  static CUresult Call(CUresult (*real)(Args...), Args... args) {
    return WithRescue(0, [&] { return real(args...); });
  }
};
#define VS_RESCUED(symbol) Rescued<decltype(&::symbol)>::Call

// The hook of a call that frees device memory of others.
template <typename Function>
struct Returned;
template <typename... Args>
struct Returned<CUresult (*)(Args...)> {
  static CUresult Call(CUresult (*real)(Args...), Args... args) {
    return WithReturn([&] { return real(args...); });
  }
};
#define VS_RETURNED(symbol) Returned<decltype(&::symbol)>::Call

// Hooks.
CUresult MemCreate(decltype(&::cuMemCreate) real, CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags);
CUresult MemAllocManaged(decltype(&::cuMemAllocManaged) real, CUdeviceptr* p, size_t size,
                         unsigned flags);
CUresult MemAllocHost(decltype(&::cuMemAllocHost_v2) real, void** p, size_t size);
CUresult MemHostAlloc(decltype(&::cuMemHostAlloc) real, void** p, size_t size, unsigned flags);
CUresult MemHostRegister(decltype(&::cuMemHostRegister_v2) real, void* p, size_t size,
                         unsigned flags);
CUresult ArrayCreate(decltype(&::cuArrayCreate_v2) real, CUarray* array,
                     const CUDA_ARRAY_DESCRIPTOR* descriptor);
CUresult Array3DCreate(decltype(&::cuArray3DCreate_v2) real, CUarray* array,
                       const CUDA_ARRAY3D_DESCRIPTOR* descriptor);
CUresult MipmappedArrayCreate(decltype(&::cuMipmappedArrayCreate) real, CUmipmappedArray* array,
                              const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_FOREIGN_H_
