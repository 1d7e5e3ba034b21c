// Two processes that share memory by legacy IPC handles. The child exports; the parent opens, and
// kills it in the end.
#include "tests/preload/program_ipc.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace {

struct HandleFields {
  unsigned long long magic;
  unsigned version;
  int process;
  unsigned long long socket, id, secret[2], size;
};
HandleFields FieldsOf(const CUipcMemHandle& handle) {
  HandleFields fields{};
  std::memcpy(&fields, &handle, sizeof(fields));
  return fields;
}

}  // namespace

int ConnectToExporter(const CUipcMemHandle& handle) {
  const HandleFields fields = FieldsOf(handle);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                                   "vramspan-ipc-%d-%016llx", fields.process, fields.socket);
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  const int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connect(peer, reinterpret_cast<const sockaddr*>(&address), size) == 0) return peer;
  close(peer);
  return -1;
}

void IpcRequestFor(const CUipcMemHandle& handle, unsigned long long* words) {
  const HandleFields fields = FieldsOf(handle);
  const unsigned long long request[kIpcRequestWords] = {fields.magic, fields.id, fields.secret[0],
                                                        fields.secret[1], fields.size};
  std::memcpy(words, request, sizeof(request));
}

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kBytes = 5 * kMiB;  // Chunks of several sizes.
constexpr size_t kSmall = 4096;
constexpr size_t kWord = sizeof(unsigned long long);
constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

void CheckWords(Program* p, CUdeviceptr at, size_t bytes, unsigned long long seed,
                unsigned long long added) {
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  std::vector<unsigned long long> back(bytes / kWord);
  CHECK_OK(p->api.MemcpyDtoH(back.data(), at, bytes));
  for (size_t i = 0; i < back.size(); ++i) {
    if (back[i] == Program::Word(i, seed) + added) continue;
    Fail("word " + std::to_string(i) + " of " + std::to_string(seed) + " is wrong");
  }
}

void Add(Program* p, CUdeviceptr at, size_t bytes, unsigned long long value) {
  p->Launch(p->add_constant, at, bytes / kWord, value);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
}

[[noreturn]] void Exporter(Program* p, int peer) {
  p->Start();
  const Api& api = p->api;
  size_t free = 0, total = 0;
  CHECK_OK(api.MemGetInfo(&free, &total));
  CUdeviceptr tiny[2] = {};
  for (CUdeviceptr& t : tiny) CHECK_OK(api.MemAlloc(&t, kSmall));
  std::vector<CUdeviceptr> buffers(2 * total / kBytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(api.MemAlloc(&b, kBytes));
  // The first lies on the host by the time, and work is under way everywhere.
  p->Launch(p->fill_hash, tiny[1], kSmall / kWord, 1);
  p->Launch(p->fill_hash, buffers[0], kBytes / kWord, 2);
  p->Launch(p->fill_hash, buffers[1], kBytes / kWord, 3);
  for (const CUdeviceptr b : buffers) p->Launch(p->add_constant, b, kBytes / kWord, 0);
  std::vector<CUdeviceptr> others(buffers.begin() + 2, buffers.end());
  CUipcMemHandle handles[3], again;
  std::memset(&again, 0, sizeof(again));
  CHECK_OK(api.IpcGetMemHandle(&handles[0], tiny[1]));
  CHECK_OK(api.IpcGetMemHandle(&handles[1], buffers[0] + 4096));  // The whole of it, all the same.
  CHECK_OK(api.IpcGetMemHandle(&handles[2], buffers[1]));
  CHECK_OK(api.IpcGetMemHandle(&again, buffers[0]));
  CHECK(std::memcmp(&again, &handles[1], sizeof(again)) == 0);
  CHECK(std::memcmp(&handles[1], &handles[2], sizeof(again)) != 0);
  CUdeviceptr own = 7;
  CHECK(api.IpcOpenMemHandle(&own, again, kFlags) == CUDA_ERROR_INVALID_CONTEXT);
  const auto older = GET(cuIpcOpenMemHandle, "cuIpcOpenMemHandle");
  CHECK(older(&own, again, kFlags) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(own == 7);
  CHECK(api.IpcGetMemHandle(nullptr, buffers[0]) == CUDA_ERROR_INVALID_VALUE);
  Tell(peer, handles);
  p->Work(others, kBytes, 1);  // Moves what is not pinned, beside the other process's work.
  Hear<char>(peer);
  CheckWords(p, tiny[1], kSmall, 1, 10);
  CheckWords(p, buffers[0], kBytes, 2, 20);
  Add(p, buffers[0], kBytes, 100);
  p->Work(others, kBytes, 1);
  Tell(peer, 'y');
  // Gone here, while it is mapped there: nobody else gets that memory.
  Hear<char>(peer);
  CHECK_OK(api.MemFree(buffers[0]));
  CHECK_OK(api.MemFree(tiny[1]));  // Its chunk stays, for the other.
  CHECK_OK(api.MemAlloc(&buffers[0], kBytes));
  p->Work(buffers, kBytes, 1);
  p->Launch(p->fill_hash, buffers[1], kBytes / kWord, 3);
  CHECK_OK(api.StreamSynchronize(p->stream));
  Tell(peer, 'y');
  Hear<char>(peer);  // It is killed, unless the other fails before.
  Fail("nobody killed it");
}

// A handle with one byte changed, and, where asked for, a check that fits it.
CUipcMemHandle Changed(const CUipcMemHandle& handle, size_t at, bool checked) {
  unsigned char bytes[sizeof(handle)];
  std::memcpy(bytes, &handle, sizeof(bytes));
  bytes[at] ^= 0x40;
  if (checked) {
    unsigned long long hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof(bytes) - kWord; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    std::memcpy(bytes + sizeof(bytes) - kWord, &hash, kWord);
  }
  CUipcMemHandle changed;
  std::memcpy(&changed, bytes, sizeof(bytes));
  return changed;
}

void Refused(Program* p, const CUipcMemHandle& handle, CUresult wanted) {
  CUdeviceptr none = 7;
  const CUresult result = p->api.IpcOpenMemHandle(&none, handle, kFlags);
  if (result != wanted) Fail("a bad handle is " + std::to_string(result));
  // What is no handle of vramspan's the driver is asked, and some of its calls write as they fail.
  CHECK(none == 7 || wanted == CUDA_ERROR_INVALID_VALUE);
}

void RefusesBadHandles(Program* p, const CUipcMemHandle& good) {
  CUipcMemHandle garbage;
  std::memset(&garbage, 0x5a, sizeof(garbage));
  Refused(p, garbage, CUDA_ERROR_INVALID_VALUE);
  Refused(p, Changed(good, 0, true), CUDA_ERROR_INVALID_VALUE);
  for (size_t at = 8; at < sizeof(good); at += 4) {
    Refused(p, Changed(good, at, false), CUDA_ERROR_INVALID_HANDLE);
    if (at < sizeof(good) - kWord) {
      Refused(p, Changed(good, at, true), CUDA_ERROR_INVALID_HANDLE);
    }
  }
  CUdeviceptr none = 7;
  CHECK(p->api.IpcOpenMemHandle(&none, good, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(p->api.IpcOpenMemHandle(nullptr, good, kFlags) == CUDA_ERROR_INVALID_VALUE);
  CHECK(none == 7);
}

// What strangers say to the exporter's socket. It answers none of it, and goes on serving.
void IsRudeTo(const CUipcMemHandle& handle) {
  unsigned long long request[kIpcRequestWords + 1] = {};
  IpcRequestFor(handle, request);
  const auto ask = [&](size_t bytes, unsigned long long magic, bool as_nobody) {
    if (as_nobody) CHECK(seteuid(65534) == 0);
    const int peer = ConnectToExporter(handle);
    CHECK(peer >= 0);
    if (as_nobody) CHECK(seteuid(0) == 0);
    unsigned long long message[std::size(request)];
    std::memcpy(message, request, sizeof(message));
    message[0] ^= magic;
    // A connection that is refused may be closed before this.
    const bool sent = send(peer, message, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
    unsigned long long answer[4] = {};
    const bool answered = sent && recv(peer, answer, sizeof(answer), 0) == sizeof(answer);
    close(peer);
    return answered;
  };
  constexpr size_t kWhole = kIpcRequestWords * kWord;
  CHECK(ask(kWhole, 0, false));
  CHECK(!ask(kWhole, 1, false));
  CHECK(!ask(kWhole - 1, 0, false));
  CHECK(!ask(kWhole + 1, 0, false));
  CHECK(!ask(1, 0, false));
  // Another user's process that knows the secret.
  if (geteuid() == 0) CHECK(!ask(kWhole, 0, true));
  CHECK(ask(kWhole, 0, false));
}

}  // namespace

void ShareByIpc(Program* p) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    Exporter(p, ends[1]);
  }
  close(ends[1]);
  const int peer = ends[0];
  struct Three {
    CUipcMemHandle handle[3];
  };
  const Three given = Hear<Three>(peer);
  p->Start();
  const Api& api = p->api;
  CUdeviceptr tiny = 0, large = 0, again = 0;
  CHECK_OK(api.IpcOpenMemHandle(&tiny, given.handle[0], kFlags));
  CHECK_OK(api.IpcOpenMemHandle(&large, given.handle[1], kFlags));
  CHECK_OK(api.IpcOpenMemHandle(&again, given.handle[1], kFlags));
  CHECK(large == again && tiny != large);
  CheckWords(p, tiny, kSmall, 1, 0);
  CheckWords(p, large, kBytes, 2, 0);
  Add(p, tiny, kSmall, 10);
  Add(p, large, kBytes, 20);
  p->WorkBeyondMemory(kBytes);
  Tell(peer, 'y');
  Hear<char>(peer);
  CheckWords(p, large, kBytes, 2, 120);
  CHECK_OK(api.IpcCloseMemHandle(tiny));
  CHECK(api.IpcCloseMemHandle(tiny) != CUDA_SUCCESS);
  CHECK_OK(api.IpcCloseMemHandle(large));
  RefusesBadHandles(p, given.handle[1]);
  IsRudeTo(given.handle[1]);
  // Open once more, and freed by the other.
  Tell(peer, 'y');
  Hear<char>(peer);
  CheckWords(p, large, kBytes, 2, 120);
  Add(p, large, kBytes, 1);
  CheckWords(p, large, kBytes, 2, 121);
  CHECK_OK(api.IpcCloseMemHandle(large));
  CHECK(api.IpcCloseMemHandle(large) != CUDA_SUCCESS);
  Refused(p, given.handle[1], CUDA_ERROR_INVALID_HANDLE);
  Refused(p, given.handle[0], CUDA_ERROR_INVALID_HANDLE);
  // It dies, and what is open stays.
  CHECK_OK(api.IpcOpenMemHandle(&again, given.handle[2], kFlags));
  CHECK(kill(child, SIGKILL) == 0);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  CheckWords(p, again, kBytes, 3, 0);
  CUdeviceptr twice = 0;
  CHECK_OK(api.IpcOpenMemHandle(&twice, given.handle[2], kFlags));
  CHECK(twice == again);
  CHECK_OK(api.IpcCloseMemHandle(again));
  CHECK_OK(api.IpcCloseMemHandle(again));
  Refused(p, given.handle[2], CUDA_ERROR_INVALID_HANDLE);
  p->WorkBeyondMemory(kBytes);
}

// The driver fails in the middle: what was to be shared is where it was, or can be shared.
void IpcRefused(Program* p) {
  p->Start();
  const auto fail = Get<int (*)(const char*, unsigned long long, long long, int)>("simcudaFail");
  const auto reset = Get<void (*)()>("simcudaReset");
  CUdeviceptr buffer = 0;
  CHECK_OK(p->api.MemAlloc(&buffer, kBytes));
  p->Launch(p->fill_hash, buffer, kBytes / kWord, 1);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  unsigned long long added = 0;
  int refused = 0;
  for (const char* call : {"cuMemMap", "cuMemSetAccess", "cuMemCreate"}) {
    for (unsigned long long nth = 1; nth <= 4; ++nth) {
      for (const long long count : {1, 2, 5}) {
        CHECK(fail(call, nth, count, CUDA_ERROR_UNKNOWN) == 0);
        CUipcMemHandle handle;
        refused += p->api.IpcGetMemHandle(&handle, buffer) != CUDA_SUCCESS;
        reset();
        Add(p, buffer, kBytes, 1);
        CheckWords(p, buffer, kBytes, 1, ++added);
        CHECK_OK(p->api.MemFree(buffer));
        CHECK_OK(p->api.MemAlloc(&buffer, kBytes));
        p->Launch(p->fill_hash, buffer, kBytes / kWord, 1);
        added = 0;
      }
    }
  }
  CHECK(refused >= 4);
  CUipcMemHandle handle;
  CHECK_OK(p->api.IpcGetMemHandle(&handle, buffer));
  p->WorkBeyondMemory(kBytes);
}

void IpcWithoutRoom(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  CUdeviceptr large = 0;
  CHECK_OK(p->api.MemAlloc(&large, total + 4 * kMiB));
  CUipcMemHandle handle, before;
  std::memset(&handle, 0x5a, sizeof(handle));
  before = handle;
  CHECK(p->api.IpcGetMemHandle(&handle, large) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(std::memcmp(&handle, &before, sizeof(handle)) == 0);
  p->Work({large}, total + 4 * kMiB, 1);
  CHECK_OK(p->api.MemFree(large));
  // All that the device has but a little.
  CHECK_OK(p->api.MemAlloc(&large, total / 2));
  CHECK_OK(p->api.IpcGetMemHandle(&handle, large));
  p->WorkBeyondMemory(kBytes);
}
