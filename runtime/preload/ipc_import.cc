// The opening side of legacy IPC: handles of ours become mappings.
#include <absl/strings/str_cat.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/driver/driver.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/ipc_wire.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/process.h"
#include "runtime/preload/resolver.h"
#include "runtime/space/chunk.h"

namespace vramspan::preload {
namespace {

constexpr std::chrono::seconds kCallPatience{10};  // For one packet.
constexpr std::chrono::seconds kOpenPatience{30};  // For all of them.

// A row for each function of the driver that is needed here.
#define VS_IMPORT_CALLS(X)                                        \
  X(MemImportFromShareableHandle, cuMemImportFromShareableHandle) \
  X(MemAddressReserve, cuMemAddressReserve)                       \
  X(MemAddressFree, cuMemAddressFree)                             \
  X(MemMap, cuMemMap)                                             \
  X(MemUnmap, cuMemUnmap)                                         \
  X(MemRelease, cuMemRelease)                                     \
  X(MemSetAccess, cuMemSetAccess)                                 \
  X(MemAlloc, cuMemAlloc_v2)                                      \
  X(MemFree, cuMemFree_v2)                                        \
  X(CtxGetDevice, cuCtxGetDevice)

struct Calls {
#define X(field, symbol) decltype(&::symbol) field = nullptr;
  VS_IMPORT_CALLS(X)
#undef X
};

StatusOr<const Calls*> TheCalls() {
  static const Calls calls = [] {
    Calls found;
#define X(field, symbol) found.field = DriverFunction<decltype(&::symbol)>(#symbol);
    VS_IMPORT_CALLS(X)
#undef X
    return found;
  }();
#define X(field, symbol) \
  if (calls.field == nullptr) return absl::UnimplementedError("the driver has no " #symbol);
  VS_IMPORT_CALLS(X)
#undef X
  return &calls;
}

void Note(CUresult result, const char* call) {
  const Status status = Check(result, call, "of opened memory");
  if (!status.ok()) Log(LogLevel::kInfo, status.message());
}

struct Mapping {
  CUdeviceptr base = 0;  // Of the pieces.
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

void Unmap(const Calls& calls, CUdeviceptr base, uint64_t bytes, uint64_t mapped) {
  if (mapped != 0) {
    const CUresult result = calls.MemUnmap(base, mapped);
    Note(result, "cuMemUnmap");
    if (result != CUDA_SUCCESS) return;  // And the addresses stay taken.
  }
  Note(calls.MemAddressFree(base, bytes), "cuMemAddressFree");
}

StatusOr<OwnedFd> Connect(const IpcHandle& handle) {
  StatusOr<OwnedFd> peer = ConnectTo(AddressOf(handle.process, handle.socket), kCallPatience);
  if (!peer.ok()) {
    return absl::UnavailableError(
        absl::StrCat("process ", handle.process, " does not answer (", peer.status().message(),
                     "): it has ended, or is in another container's network"));
  }
  VS_RETURN_IF_ERROR(CheckPeer(peer->get()));
  return peer;
}

// Maps the pieces as they come.
Status MapPieces(const Calls& calls, int peer, const IpcAnswer& answer, CUdeviceptr base,
                 uint64_t* mapped) {
  const auto end = std::chrono::steady_clock::now() + kOpenPatience;
  for (uint64_t i = 0; i < answer.pieces; ++i) {
    if (std::chrono::steady_clock::now() > end) {
      return absl::DeadlineExceededError("the other process took too long");
    }
    IpcPiece piece;
    OwnedFd fd;
    VS_RETURN_IF_ERROR(ReceivePacket(peer, &piece, sizeof(piece), &fd));
    const bool sound = piece.index == i && piece.bytes != 0 &&
                       piece.bytes % kGranularity.value == 0 &&
                       piece.bytes <= answer.bytes - *mapped;
    if (!sound) return absl::DataLossError("a piece of the answer is damaged");
    CUmemGenericAllocationHandle handle = 0;
    VS_RETURN_IF_ERROR(Check(calls.MemImportFromShareableHandle(
                                 &handle, reinterpret_cast<void*>(static_cast<intptr_t>(fd.get())),
                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                             "cuMemImportFromShareableHandle", "from another process"));
    const Status status = Check(calls.MemMap(base + *mapped, piece.bytes, 0, handle, 0), "cuMemMap",
                                RangeText(DevicePtr(base + *mapped), Bytes(piece.bytes)));
    // Its mapping keeps it.
    Note(calls.MemRelease(handle), "cuMemRelease");
    VS_RETURN_IF_ERROR(status);
    *mapped += piece.bytes;
  }
  return *mapped == answer.bytes ? absl::OkStatus()
                                 : absl::DataLossError("pieces of the answer are missing");
}

StatusOr<Mapping> Import(const Calls& calls, const IpcHandle& handle) {
  CUdevice device = 0;
  VS_RETURN_IF_ERROR(Check(calls.CtxGetDevice(&device), "cuCtxGetDevice", ""));
  VS_ASSIGN_OR_RETURN(const OwnedFd peer, Connect(handle));
  const IpcRequest request{kIpcMagic, handle.id, handle.secret, handle.size};
  VS_RETURN_IF_ERROR(SendPacket(peer.get(), &request, sizeof(request)));
  IpcAnswer answer;
  VS_RETURN_IF_ERROR(ReceivePacket(peer.get(), &answer, sizeof(answer)));
  VS_RETURN_IF_ERROR(CheckAnswer(handle, answer));
  CUdeviceptr base = 0;
  VS_RETURN_IF_ERROR(Check(calls.MemAddressReserve(&base, answer.bytes, 0, 0, 0),
                           "cuMemAddressReserve", absl::StrCat(answer.bytes)));
  uint64_t mapped = 0;
  Status status = MapPieces(calls, peer.get(), answer, base, &mapped);
  if (status.ok()) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    status = Check(calls.MemSetAccess(base, answer.bytes, &access, 1), "cuMemSetAccess",
                   RangeText(DevicePtr(base), Bytes(answer.bytes)));
  }
  if (!status.ok()) {
    Unmap(calls, base, answer.bytes, mapped);
    return status;
  }
  return Mapping{base, answer.bytes, answer.offset};
}

// What the driver failed to do it says itself; all else is a handle that leads nowhere.
CUresult ResultOf(const Status& status) {
  const CUresult result = ToCuResult(status);
  const bool drivers = absl::IsResourceExhausted(status) || absl::IsUnimplemented(status);
  return drivers ? result : CUDA_ERROR_INVALID_HANDLE;
}

// What a thread of the program opens or closes it does without the lock, since it waits for another
// process or for the device; who wants the same meanwhile waits for what comes of it.
struct Opened {
  enum class State { kOpening, kOpen, kClosing, kGone };
  State state = State::kOpening;
  CUresult result = CUDA_SUCCESS;  // Of opening it, where it is gone.
  Mapping mapping;
  int references = 0;
};

// By context and handle, every byte of it. Never taken apart: calls may come until the process is
// gone.
struct Importer {
  using Key = std::pair<CUcontext, IpcHandle>;
  Mutex mu;
  CondVar changed;
  std::map<Key, std::shared_ptr<Opened>> opened VS_GUARDED_BY(mu);

  void Settle(const Key& key, Opened* entry, Opened::State state) VS_REQUIRES(mu) {
    entry->state = state;
    if (state == Opened::State::kGone) opened.erase(key);
    changed.NotifyAll();
  }
};

Importer& TheImporter() {
  static Importer* const importer = new Importer;
  return *importer;
}

CUresult Refuse(CUresult result, const std::string& why) {
  Log(LogLevel::kWarning, absl::StrCat("memory of another process cannot be opened: ", why));
  return result;
}

CUresult Open(CUdeviceptr* p, const IpcHandle& handle) {
  if (handle.version != kIpcVersion) {
    return Refuse(CUDA_ERROR_INVALID_HANDLE, "its vramspan is of another version");
  }
  if (CheckOf(handle) != handle.check) {
    return Refuse(CUDA_ERROR_INVALID_HANDLE, "the handle was changed after it was given out");
  }
  // As the driver has it.
  if (IsExporter(handle.socket)) return CUDA_ERROR_INVALID_CONTEXT;
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const StatusOr<const Calls*> calls = TheCalls();
  if (!calls.ok()) return Refuse(CUDA_ERROR_NOT_SUPPORTED, std::string(calls.status().message()));
  Importer& importer = TheImporter();
  const Importer::Key key{context, handle};
  const auto entry = std::make_shared<Opened>();
  {
    MutexLock lock(importer.mu);
    for (;;) {
      const auto [it, made] = importer.opened.try_emplace(key, entry);
      if (made) break;
      const std::shared_ptr<Opened> known = it->second;
      while (known->state == Opened::State::kOpening || known->state == Opened::State::kClosing) {
        importer.changed.Wait(importer.mu);
      }
      if (known->state == Opened::State::kOpen) {
        ++known->references;
        *p = known->mapping.base + known->mapping.offset;
        return CUDA_SUCCESS;
      }
      if (known->result != CUDA_SUCCESS) return known->result;  // A line has said why.
    }
  }
  StatusOr<Mapping> mapping = absl::ResourceExhaustedError("the process is out of memory");
  try {
    mapping = Import(**calls, handle);
  } catch (const std::bad_alloc&) {
  }
  MutexLock lock(importer.mu);
  if (!mapping.ok()) {
    entry->result = ResultOf(mapping.status());
    importer.Settle(key, entry.get(), Opened::State::kGone);
    return Refuse(entry->result, std::string(mapping.status().message()));
  }
  entry->mapping = *mapping;
  entry->references = 1;
  *p = entry->mapping.base + entry->mapping.offset;
  importer.Settle(key, entry.get(), Opened::State::kOpen);
  return CUDA_SUCCESS;
}

// The last reference to it. Work of this process may use it still: a free waits for the context's
// work, in a capture too.
CUresult Close(const Mapping& mapping) {
  const Calls& calls = **TheCalls();
  CUdeviceptr drain = 0;
  if (const CUresult r = calls.MemAlloc(&drain, 1); r != CUDA_SUCCESS) return r;
  if (const CUresult r = calls.MemFree(drain); r != CUDA_SUCCESS) return r;
  Unmap(calls, mapping.base, mapping.bytes, mapping.bytes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult IpcOpenMemHandle(decltype(&::cuIpcOpenMemHandle_v2) real, CUdeviceptr* p,
                          CUipcMemHandle handle, unsigned flags) {
  const IpcHandle ours = FromCuda(handle);
  if (!Ready() || ours.magic != kIpcMagic) return real(p, handle, flags);
  if (p == nullptr || (flags & ~unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const OwnCalls own;
  try {
    return Open(p, ours);
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult IpcCloseMemHandle(decltype(&::cuIpcCloseMemHandle) real, CUdeviceptr p) {
  if (!Ready()) return real(p);
  const OwnCalls own;
  Importer& importer = TheImporter();
  const CUcontext context = CurrentContext();
  Importer::Key key;
  std::shared_ptr<Opened> entry;
  {
    MutexLock lock(importer.mu);
    for (const auto& [known, opened] : importer.opened) {
      const bool named = opened->state == Opened::State::kOpen &&
                         opened->mapping.base + opened->mapping.offset == p;
      if (!named) continue;
      if (known.first != context) return CUDA_ERROR_INVALID_CONTEXT;
      if (--opened->references != 0) return CUDA_SUCCESS;
      opened->state = Opened::State::kClosing;
      key = known;
      entry = opened;
      break;
    }
  }
  if (entry != nullptr) {
    const CUresult result = Close(entry->mapping);
    MutexLock lock(importer.mu);
    if (result != CUDA_SUCCESS) entry->references = 1;
    importer.Settle(key, entry.get(),
                    result == CUDA_SUCCESS ? Opened::State::kGone : Opened::State::kOpen);
    return result;
  }
  return real(p);
}

}  // namespace vramspan::preload
