#include "tests/api/fake_vramspan.h"

namespace vramspan_fake {

State& state() {
  static State the;
  return the;
}

void Reset() { state() = State(); }

namespace {

// Records the call; the error that it is to fail with, if any.
CUresult Call(const std::string& name, const std::string& detail = {}) {
  State& s = state();
  s.calls.push_back(detail.empty() ? name : name + " " + detail);
  const auto it = s.fail.find(name);
  if (it == s.fail.end()) return CUDA_SUCCESS;
  s.message = name + " was told to fail";
  return it->second;
}

CUresult Refuse(CUresult result, const std::string& why) {
  state().message = why;
  return result;
}

}  // namespace
}  // namespace vramspan_fake

using vramspan_fake::Call;
using vramspan_fake::Refuse;
using vramspan_fake::state;

struct vramspanRuntime_st {};

extern "C" {

CUresult vramspanCreate(vramspanRuntime* runtime, const vramspanConfig* config) {
  if (const CUresult result = Call("Create"); result != CUDA_SUCCESS) return result;
  auto& s = state();
  s.config = *config;
  const auto keep = [&s](const char* name, const char* value) {
    if (value != nullptr) s.config_strings[name] = value;
  };
  keep("driver", config->driver);
  keep("device_memory", config->device_memory);
  keep("host_memory", config->host_memory);
  keep("chunk", config->chunk);
  keep("policy", config->policy);
  keep("arena", config->arena);
  keep("tracer", config->tracer);
  keep("overlap", config->overlap);
  keep("record", config->record);
  ++s.runtimes;
  *runtime = new vramspanRuntime_st;
  return CUDA_SUCCESS;
}

CUresult vramspanDestroy(vramspanRuntime runtime) {
  delete runtime;
  --state().runtimes;
  return Call("Destroy");
}

CUresult vramspanMemAlloc(vramspanRuntime, CUdeviceptr* ptr, size_t size) {
  if (const CUresult result = Call("MemAlloc", std::to_string(size)); result != CUDA_SUCCESS) {
    return result;
  }
  auto& s = state();
  *ptr = s.next;
  s.allocations[s.next] = size;
  s.next += (size + 255) / 256 * 256;
  return CUDA_SUCCESS;
}

CUresult vramspanMemFree(vramspanRuntime, CUdeviceptr ptr) {
  if (const CUresult result = Call("MemFree"); result != CUDA_SUCCESS) return result;
  if (state().allocations.erase(ptr) == 0) {
    return Refuse(CUDA_ERROR_INVALID_VALUE, "not the start of an allocation");
  }
  return CUDA_SUCCESS;
}

CUresult vramspanWorkBegin(vramspanRuntime, CUstream, const vramspanRange* ranges, size_t count) {
  auto& s = state();
  const CUresult result = Call("WorkBegin", ranges == nullptr ? "unknown" : std::to_string(count));
  if (result != CUDA_SUCCESS) return result;
  if (s.open) return Refuse(CUDA_ERROR_ILLEGAL_STATE, "a scope is open");
  s.open = true;
  s.unknown = ranges == nullptr;
  s.ranges.assign(ranges, ranges + count);
  return CUDA_SUCCESS;
}

CUresult vramspanWorkEnd(vramspanRuntime, CUstream) {
  const CUresult result = Call("WorkEnd");
  state().open = false;
  return result;
}

CUresult vramspanStreamForget(vramspanRuntime, CUstream) { return Call("StreamForget"); }

CUresult vramspanMemAdvise(vramspanRuntime, CUdeviceptr, size_t size, vramspanAdvice advice) {
  return Call("MemAdvise", std::to_string(size) + " " + std::to_string(advice));
}

CUresult vramspanMemPrefetchAsync(vramspanRuntime, CUdeviceptr, size_t size, vramspanLocation to,
                                  CUstream) {
  return Call("MemPrefetchAsync", std::to_string(size) + " " + std::to_string(to));
}

CUresult vramspanMemDiscard(vramspanRuntime, CUdeviceptr, size_t size, CUstream) {
  return Call("MemDiscard", std::to_string(size));
}

CUresult vramspanMemPin(vramspanRuntime, CUdeviceptr, size_t size) {
  return Call("MemPin", std::to_string(size));
}

CUresult vramspanMemUnpin(vramspanRuntime, CUdeviceptr, size_t size) {
  return Call("MemUnpin", std::to_string(size));
}

CUresult vramspanSetDeviceBudget(vramspanRuntime, size_t bytes) {
  return Call("SetDeviceBudget", std::to_string(bytes));
}

CUresult vramspanSetHostBudget(vramspanRuntime, size_t bytes) {
  return Call("SetHostBudget", std::to_string(bytes));
}

CUresult vramspanSetPeerAccess(vramspanRuntime, CUdevice peer, int allowed) {
  return Call("SetPeerAccess", std::to_string(peer) + " " + std::to_string(allowed));
}

CUresult vramspanSynchronize(vramspanRuntime) { return Call("Synchronize"); }

CUresult vramspanTakeBackgroundError(vramspanRuntime) { return Call("TakeBackgroundError"); }

CUresult vramspanReleaseCupti(void) { return Call("ReleaseCupti"); }

CUresult vramspanMemResidency(vramspanRuntime, CUdeviceptr, size_t size,
                              vramspanResidency* residency) {
  const CUresult result = Call("MemResidency", std::to_string(size));
  if (result == CUDA_SUCCESS) residency->device_bytes = size;
  return result;
}

CUresult vramspanMemGetAddressRange(vramspanRuntime, CUdeviceptr* base, size_t* size,
                                    CUdeviceptr ptr) {
  const auto& allocations = state().allocations;
  auto it = allocations.upper_bound(ptr);
  if (it == allocations.begin()) return Refuse(CUDA_ERROR_NOT_FOUND, "foreign");
  --it;
  if (ptr - it->first >= it->second) return Refuse(CUDA_ERROR_NOT_FOUND, "foreign");
  *base = it->first;
  *size = it->second;
  return CUDA_SUCCESS;
}

CUresult vramspanGetStatistics(vramspanRuntime, vramspanStatistics* out) {
  if (out->struct_size != sizeof(*out)) return Refuse(CUDA_ERROR_INVALID_VALUE, "struct_size");
  out->allocations = state().allocations.size();
  return CUDA_SUCCESS;
}

const char* vramspanLastErrorMessage(void) { return state().message.c_str(); }

const char* vramspanVersion(void) { return "0.1.0"; }

}  // extern "C"
