// The exporting side of legacy IPC: the book of what has a handle.
#include <absl/container/btree_map.h>
#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/ipc_server.h"
#include "runtime/preload/ipc_wire.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/vmm.h"

namespace vramspan::preload {
namespace {

struct Exported {
  uint64_t id = 0;
  IpcSecret secret{};
  uint64_t size = 0;
  SharedMemory memory;
};

// Never taken apart: calls may come until the process is gone.
struct Exporter {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  absl::btree_map<CUdeviceptr, Exported> by_base VS_GUARDED_BY(mu);
  uint64_t socket VS_GUARDED_BY(mu) = 0;  // 0: nobody listens yet.
  IpcServer* server VS_GUARDED_BY(mu) = nullptr;
  bool exiting VS_GUARDED_BY(mu) = false;
  std::atomic<bool> any{false};  // Something has ever been exported.

  // The end where there is none that the request may have.
  auto Find(const IpcRequest& request) VS_REQUIRES(mu) {
    return std::find_if(by_base.begin(), by_base.end(), [&](const auto& entry) {
      const Exported& e = entry.second;
      return e.id == request.id && e.secret == request.secret && e.size == request.size;
    });
  }
};

Exporter& TheExporter() {
  static Exporter* const exporter = new Exporter;
  return *exporter;
}

IpcAnswer Describe(const IpcRequest& request) {
  IpcAnswer answer;
  Exporter& exporter = TheExporter();
  MutexLock lock(exporter.mu);
  const auto found = exporter.Find(request);
  if (found == exporter.by_base.end()) return answer;
  const auto& [base, exported] = *found;
  const SharedMemory& memory = exported.memory;
  answer.pieces = memory.pieces.size();
  for (const auto& piece : memory.pieces) answer.bytes += piece.size.value;
  answer.offset = base - memory.base.value;
  return answer;
}

// The lock is held over the driver's call, so that what is freed meanwhile waits for it.
StatusOr<OwnedFd> ExportPiece(const IpcRequest& request, uint64_t index, IpcPiece* piece) {
  static const auto real =
      DriverFunction<decltype(&::cuMemExportToShareableHandle)>("cuMemExportToShareableHandle");
  Exporter& exporter = TheExporter();
  MutexLock lock(exporter.mu);
  const auto found = exporter.Find(request);
  if (found == exporter.by_base.end() || exporter.exiting || real == nullptr) {
    return absl::NotFoundError("the allocation was freed meanwhile");
  }
  const SharedMemory::Piece& from = found->second.memory.pieces.at(index);
  int fd = -1;
  VS_RETURN_IF_ERROR(Check(real(&fd, from.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                           "cuMemExportToShareableHandle", "for another process"));
  piece->index = index;
  piece->bytes = from.size.value;
  return OwnedFd(fd);
}

// With the lock held by the caller: nobody else starts one.
Status StartServer(Exporter* exporter) VS_NO_THREAD_SAFETY_ANALYSIS {
  auto server = std::make_unique<IpcServer>(&Describe, &ExportPiece);
  const StatusOr<uint64_t> socket = server->Start();
  if (server->running()) exporter->server = server.release();
  VS_RETURN_IF_ERROR(socket.status());
  exporter->socket = *socket;
  // Before the driver's own end: what is under way holds the lock.
  std::atexit([] {
    Exporter& ending = TheExporter();
    if (!ending.process.Ends()) return;
    MutexLock lock(ending.mu);
    ending.exiting = true;
  });
  return absl::OkStatus();
}

StatusOr<CUipcMemHandle> Export(Runtime* runtime, const Allocated& memory) {
  Exporter& exporter = TheExporter();
  IpcHandle handle;
  handle.process = getpid();
  handle.id = memory.id;
  handle.size = memory.size;
  const auto finish = [&](const Exported& exported) VS_NO_THREAD_SAFETY_ANALYSIS {
    handle.socket = exporter.socket;
    handle.secret = exported.secret;
    handle.check = CheckOf(handle);
    return ToCuda(handle);
  };
  {
    MutexLock lock(exporter.mu);
    if (exporter.server != nullptr) VS_RETURN_IF_ERROR(exporter.server->gone());
    const auto it = exporter.by_base.find(memory.base);
    if (it != exporter.by_base.end()) return finish(it->second);
    if (exporter.socket == 0) VS_RETURN_IF_ERROR(StartServer(&exporter));
  }
  Exported made;
  made.id = memory.id;
  made.size = memory.size;
  VS_RETURN_IF_ERROR(FillRandom(made.secret.data(), sizeof(made.secret)));
  VS_ASSIGN_OR_RETURN(made.memory, runtime->Share(DevicePtr(memory.base), Bytes(memory.size)));
  MutexLock lock(exporter.mu);
  exporter.any.store(true, std::memory_order_release);
  // Another thread may have been faster.
  return finish(exporter.by_base.try_emplace(memory.base, std::move(made)).first->second);
}

}  // namespace

CUresult IpcGetMemHandle(decltype(&::cuIpcGetMemHandle) real, CUipcMemHandle* handle,
                         CUdeviceptr p) {
  Runtime* const runtime = RuntimeOf(p);
  if (runtime == nullptr) return VS_WATCHED(cuIpcGetMemHandle)(real, handle, p);
  const OwnCalls own;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr mapped = 0;
  size_t size = 0;
  const std::optional<Allocated> memory = FindAllocated(p);
  // Memory of the program's cuMemCreate and of pools has no such handle, and the driver says so.
  if (!memory.has_value() || memory->pool != nullptr || FindVmmMapping(p, &mapped, &size)) {
    return real(handle, p);
  }
  try {
    const StatusOr<CUipcMemHandle> made = Export(runtime, *memory);
    if (made.ok()) {
      *handle = *made;
      return CUDA_SUCCESS;
    }
    Log(LogLevel::kWarning, absl::StrCat("an allocation of the program gets no legacy IPC handle: ",
                                         made.status().message()));
    return ToCuResult(made.status());
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

void ForgetExported(CUdeviceptr base) {
  Exporter& exporter = TheExporter();
  if (!exporter.any.load(std::memory_order_acquire)) return;
  MutexLock lock(exporter.mu);
  exporter.by_base.erase(base);
}

void ForgetAllExported(CUdeviceptr begin, Bytes size) {
  Exporter& exporter = TheExporter();
  if (!exporter.any.load(std::memory_order_acquire)) return;
  MutexLock lock(exporter.mu);
  exporter.by_base.erase(exporter.by_base.lower_bound(begin),
                         exporter.by_base.lower_bound(begin + size.value));
}

bool IsExporter(uint64_t socket) {
  Exporter& exporter = TheExporter();
  MutexLock lock(exporter.mu);
  return exporter.socket != 0 && exporter.socket == socket;
}

}  // namespace vramspan::preload
