#include "runtime/preload/peers.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/process.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

// Work of one context reaches memory of another.
struct Grant {
  CUcontext from = nullptr;
  CUdevice device = 0;  // Of `from`.
  CUcontext to = nullptr;
};

struct State {
  Mutex mu;  // Held while runtimes are told, so that they hear of changes in order.
  std::vector<Grant> grants VS_GUARDED_BY(mu);
  std::atomic<bool> any{false};  // There have been grants.
  // By device whose memory it is: a bit for each that it was opened to for copies.
  std::array<std::atomic<uint64_t>, kMostDevices> opened{};
};

State& TheState() {
  static State* const state = new State;
  return *state;
}

bool StillGranted(const State& state, const Grant& gone) VS_REQUIRES(state.mu) {
  return std::any_of(state.grants.begin(), state.grants.end(),
                     [&](const Grant& g) { return g.device == gone.device && g.to == gone.to; });
}

// After it was taken out.
void Revoke(const State& state, const Grant& gone) VS_REQUIRES(state.mu) {
  Runtime* const runtime = RuntimeOfContext(gone.to);
  if (runtime == nullptr || StillGranted(state, gone)) return;
  const Status status = runtime->memory().peers().Set(gone.device, false);
  if (status.ok()) return;
  Log(LogLevel::kWarning,
      absl::StrCat("device ", gone.device, " keeps access to memory of device ",
                   runtime->memory().options().ordinal, ": ", status.message()));
}

Status Give(Runtime* runtime, CUdevice device) {
  const Status status = runtime->memory().peers().Set(device, true);
  if (!status.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("device ", device, " gets no access to memory of device ",
                     runtime->memory().options().ordinal, ": ", status.message()));
  }
  return status;
}

}  // namespace

CUresult CtxEnablePeerAccess(decltype(&::cuCtxEnablePeerAccess) real, CUcontext peer,
                             unsigned flags) {
  const CUresult result = real(peer, flags);
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const OwnCalls own;
  const auto get_device = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
  Grant grant{CurrentContext(), 0, peer};
  if (get_device == nullptr || get_device(&grant.device) != CUDA_SUCCESS) return result;
  State& state = TheState();
  MutexLock lock(state.mu);
  state.any.store(true, std::memory_order_release);
  state.grants.push_back(grant);
  Runtime* const runtime = RuntimeOfContext(peer);
  if (runtime == nullptr) return result;
  const Status status = Give(runtime, grant.device);
  if (status.ok()) return result;
  state.grants.pop_back();
  // The program is told that it has none, so it has none to other memory either.
  const auto disable =
      DriverFunction<decltype(&::cuCtxDisablePeerAccess)>("cuCtxDisablePeerAccess");
  if (disable != nullptr) {
    runtime->driver()->RecordBackgroundError(
        Check(disable(peer), "cuCtxDisablePeerAccess", "after a failure"));
  }
  return ToCuResult(status);
}

CUresult CtxDisablePeerAccess(decltype(&::cuCtxDisablePeerAccess) real, CUcontext peer) {
  const CUresult result = real(peer);
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const OwnCalls own;
  const CUcontext context = CurrentContext();
  State& state = TheState();
  MutexLock lock(state.mu);
  const auto it = std::find_if(state.grants.begin(), state.grants.end(),
                               [&](const Grant& g) { return g.from == context && g.to == peer; });
  if (it == state.grants.end()) return result;
  const Grant gone = *it;
  state.grants.erase(it);
  Revoke(state, gone);
  return result;
}

Status OpenTo(CUdevice device, Runtime* runtime) {
  State& state = TheState();
  MutexLock lock(state.mu);
  state.any.store(true, std::memory_order_release);
  VS_RETURN_IF_ERROR(Give(runtime, device));
  state.grants.push_back({nullptr, device, runtime->memory().options().context});
  return absl::OkStatus();
}

void OpenForCopies(Runtime* runtime, CUdevice device) {
  if (device < 0 || device >= 64) return;
  const int owner = runtime->memory().options().ordinal;
  std::atomic<uint64_t>& opened = TheState().opened[static_cast<size_t>(owner)];
  const uint64_t bit = uint64_t{1} << device;
  if ((opened.load(std::memory_order_acquire) & bit) != 0) [[likely]]
    return;
  const auto reaches = DriverFunction<decltype(&::cuDeviceCanAccessPeer)>("cuDeviceCanAccessPeer");
  int can = 0;
  if (reaches == nullptr || reaches(&can, device, owner) != CUDA_SUCCESS || can == 0 ||
      !OpenTo(device, runtime).ok()) {
    runtime->memory().peers().AddWherePossible(device);
  }
  opened.fetch_or(bit, std::memory_order_acq_rel);
}

void GrantPeers(Runtime* runtime, CUcontext context) {
  State& state = TheState();
  // It is a new one: nothing of it has been opened.
  const auto owner = static_cast<size_t>(runtime->memory().options().ordinal);
  state.opened[owner].store(0, std::memory_order_release);
  if (!state.any.load(std::memory_order_acquire)) return;
  const OwnCalls own;
  MutexLock lock(state.mu);
  for (const Grant& grant : state.grants) {
    // Where it fails, a line says so; there is nobody to be told but who allocates.
    if (grant.to == context) static_cast<void>(Give(runtime, grant.device));
  }
}

void ForgetPeers(CUcontext context) {
  State& state = TheState();
  if (!state.any.load(std::memory_order_acquire)) return;
  const OwnCalls own;
  MutexLock lock(state.mu);
  std::vector<Grant> gone;
  for (const Grant& g : state.grants) {
    if (g.from == context || g.to == context) gone.push_back(g);
  }
  std::erase_if(state.grants, [&](const Grant& g) { return g.from == context || g.to == context; });
  for (const Grant& g : gone) {
    if (g.to != context) Revoke(state, g);
  }
}

void ForgetPeersOfPrimary(CUdevice device) {
  if (!Ready() || !TheState().any.load(std::memory_order_acquire)) return;
  WithPrimary(device, &ForgetPeers);
}

}  // namespace vramspan::preload
