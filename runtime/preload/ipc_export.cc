// The exporting side of legacy IPC: the book of what has a handle, and the thread that answers.
#include <absl/container/btree_map.h>
#include <absl/strings/str_cat.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/base/thread.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/ipc_wire.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/vmm.h"

namespace vramspan::preload {
namespace {

// One peer is answered at a time, and one that does not read must not keep the others for long.
constexpr std::chrono::seconds kPeerPatience{2};
constexpr std::chrono::milliseconds kAfterFailure{100};
constexpr int kBacklog = 64;

struct Exported {
  uint64_t id = 0;
  IpcSecret secret{};
  uint64_t size = 0;
  Mover::Shared memory;
};

// Never taken apart: calls may come until the process is gone.
struct Exporter {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  absl::btree_map<CUdeviceptr, Exported> by_base VS_GUARDED_BY(mu);
  uint64_t socket VS_GUARDED_BY(mu) = 0;  // 0: nobody listens yet.
  bool exiting VS_GUARDED_BY(mu) = false;
  std::atomic<bool> any{false};  // Something has ever been exported.
  std::atomic<int> listener{-1};

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

Status FillRandom(void* data, size_t size) {
  const ssize_t got = getrandom(data, size, 0);
  if (got == static_cast<ssize_t>(size)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("getrandom: ", std::strerror(errno)));
}

IpcAnswer Describe(const IpcRequest& request) {
  IpcAnswer answer;
  Exporter& exporter = TheExporter();
  MutexLock lock(exporter.mu);
  const auto found = exporter.Find(request);
  if (found == exporter.by_base.end()) return answer;
  const auto& [base, exported] = *found;
  const Mover::Shared& memory = exported.memory;
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
  const Mover::Shared::Piece& from = found->second.memory.pieces.at(index);
  int fd = -1;
  VS_RETURN_IF_ERROR(Check(real(&fd, from.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                           "cuMemExportToShareableHandle", "for another process"));
  piece->index = index;
  piece->bytes = from.size.value;
  return OwnedFd(fd);
}

Status Serve(int socket) {
  VS_RETURN_IF_ERROR(SetTimeout(socket, kPeerPatience));
  VS_RETURN_IF_ERROR(CheckPeer(socket));
  IpcRequest request;
  VS_RETURN_IF_ERROR(ReceivePacket(socket, &request, sizeof(request)));
  if (request.magic != kIpcMagic) return absl::DataLossError("not a request");
  const IpcAnswer answer = Describe(request);
  VS_RETURN_IF_ERROR(SendPacket(socket, &answer, sizeof(answer)));
  for (uint64_t i = 0; i < answer.pieces; ++i) {
    IpcPiece piece;
    VS_ASSIGN_OR_RETURN(const OwnedFd fd, ExportPiece(request, i, &piece));
    VS_RETURN_IF_ERROR(SendPacket(socket, &piece, sizeof(piece), fd.get()));
  }
  return absl::OkStatus();
}

void Answer(int listener) {
  const OwnCalls own;
  for (;;) {
    const OwnedFd peer(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors, most likely: the program's own affair, and it may pass.
      std::this_thread::sleep_for(kAfterFailure);
      continue;
    }
    Status served;
    try {
      served = Serve(peer.get());
    } catch (const std::exception& e) {
      served = absl::InternalError(e.what());
    }
    if (!served.ok()) {
      Log(LogLevel::kInfo, absl::StrCat("a process that asked for shared memory did not get it: ",
                                        served.message()));
    }
  }
}

// With the lock held by the caller: nobody else starts one.
Status StartListening(Exporter* exporter) VS_NO_THREAD_SAFETY_ANALYSIS {
  uint64_t key = 0;
  VS_RETURN_IF_ERROR(FillRandom(&key, sizeof(key)));
  key |= 1;
  OwnedFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const IpcAddress address = AddressOf(getpid(), key);
  if (listener.get() < 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name), address.size) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return absl::InternalError(absl::StrCat("no socket for it: ", std::strerror(errno)));
  }
  VS_ASSIGN_OR_RETURN(Thread answering,
                      StartThread("vramspan-ipc", [fd = listener.get()] { Answer(fd); }));
  answering.Detach();
  exporter->socket = key;
  exporter->listener.store(listener.Give(), std::memory_order_release);
  // What answers is the parent's.
  pthread_atfork(nullptr, nullptr, [] {
    const int inherited = TheExporter().listener.exchange(-1, std::memory_order_relaxed);
    if (inherited >= 0) close(inherited);
  });
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
    const auto it = exporter.by_base.find(memory.base);
    if (it != exporter.by_base.end()) return finish(it->second);
    if (exporter.socket == 0) VS_RETURN_IF_ERROR(StartListening(&exporter));
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
    Log(LogLevel::kWarning, absl::StrCat("memory of the program's gets no legacy IPC handle: ",
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
