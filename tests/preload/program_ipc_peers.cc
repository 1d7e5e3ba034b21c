// An exporter that closes what it does not know, and openers beside others that hold it up.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/preload/program_ipc.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWord = sizeof(unsigned long long);
constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

// As a system without close_range does that lets no container have a table of its own.
void ForbidOwnTables() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 436, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof(steps) / sizeof(steps[0]), steps};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

// A process that shares memory: it is told by a letter what to do next.
struct Exporter {
  pid_t process = 0;
  int socket = -1;

  template <typename Body>
  static Exporter Start(Program* p, Body body) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(ends[0]);
      body(p, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    return {child, ends[0]};
  }
  void End() const {
    close(socket);
    kill(process, SIGKILL);
    CHECK(waitpid(process, nullptr, 0) == process);
  }
};

CUdeviceptr Filled(Program* p, unsigned long long seed) {
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.MemAlloc(&memory, kBytes));
  p->Launch(p->fill_hash, memory, kBytes / kWord, seed);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  return memory;
}

CUipcMemHandle HandleOf(Program* p, CUdeviceptr memory) {
  CUipcMemHandle handle;
  CHECK_OK(p->api.IpcGetMemHandle(&handle, memory));
  return handle;
}

void OpensRight(Program* p, const CUipcMemHandle& handle, unsigned long long seed) {
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.IpcOpenMemHandle(&memory, handle, kFlags));
  std::vector<unsigned long long> back(kBytes / kWord);
  CHECK_OK(p->api.MemcpyDtoH(back.data(), memory, kBytes));
  for (size_t i = 0; i < back.size(); ++i) CHECK(back[i] == Program::Word(i, seed));
  CHECK_OK(p->api.IpcCloseMemHandle(memory));
}

// As daemons do, but for the driver's and `kept`. The numbers that are free now.
std::vector<int> CloseTheUnknown(int kept) {
  std::vector<int> open, closed;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(folder)) open.push_back(std::atoi(entry->d_name));
  closedir(folder);
  for (const int fd : open) {
    char to[256] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (fd <= 2 || fd == kept || readlink(link.c_str(), to, sizeof(to) - 1) < 0) continue;
    if (std::string(to).rfind("/memfd", 0) != 0 && close(fd) == 0) closed.push_back(fd);
  }
  return closed;
}

sockaddr_in Loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Listen(sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  socklen_t size = sizeof(*address);
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(address), size) == 0);
  CHECK(listen(listener, 64) == 0);
  CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(address), &size) == 0);
  return listener;
}

// All of its clients are served by the program itself.
void ServesItsClients(int listener, const sockaddr_in& address) {
  for (int i = 0; i < 20; ++i) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{5, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    CHECK(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    // Whoever else accepts from it has the time to.
    usleep(2000);
    const int peer = accept(listener, nullptr, nullptr);
    if (peer < 0) Fail("client " + std::to_string(i) + " was taken by somebody else");
    CHECK(write(peer, "hello", 5) == 5);
    char text[5];
    CHECK(read(client, text, 5) == 5);
    close(peer);
    close(client);
  }
}

void ClosingExporter(Program* p, int peer) {
  p->Start();
  const CUipcMemHandle first = HandleOf(p, Filled(p, 1));
  Tell(peer, first);
  Hear<char>(peer);  // It has been opened once, and what answers waits for the next.
  // What the program has open, and closes, is closed: nobody keeps another copy.
  int ends[2];
  CHECK(pipe(ends) == 0);
  sockaddr_in address = Loopback();
  const int before = Listen(&address);
  const std::vector<int> closed = CloseTheUnknown(peer);
  CHECK(fcntl(before, F_GETFD) < 0 && fcntl(ends[0], F_GETFD) < 0);
  // The port is free again, and the numbers that were ours are the program's.
  std::vector<std::pair<int, sockaddr_in>> listeners(6, {-1, Loopback()});
  listeners[0].second = address;
  for (auto& [listener, at] : listeners) listener = Listen(&at);
  for (size_t i = 0; i < closed.size(); ++i) {
    if (fcntl(closed[i], F_GETFD) < 0) dup2(listeners[i % listeners.size()].first, closed[i]);
  }
  Tell(peer, 'y');
  Hear<char>(peer);  // Somebody has knocked.
  for (const auto& [listener, at] : listeners) ServesItsClients(listener, at);
  // Of another context, whose memory the driver made later.
  CUcontext second = nullptr;
  CHECK_OK(p->api.CtxSynchronize());
  CHECK_OK(p->api.CtxCreate(&second, nullptr, 0, p->device));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  CUipcMemHandle later;
  const CUresult result = p->api.IpcGetMemHandle(&later, Filled(p, 2));
  Tell(peer, result);
  if (result == CUDA_SUCCESS) Tell(peer, later);
  for (const auto& [listener, at] : listeners) ServesItsClients(listener, at);
  Hear<char>(peer);
}

// Its reader sees the end when the writer closes it, whatever threads there are.
void PipesEnd(Program*) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  close(ends[1]);
  pollfd wait{ends[0], POLLIN, 0};
  char end = 0;
  CHECK(poll(&wait, 1, 5000) == 1 && read(ends[0], &end, 1) == 0);
  close(ends[0]);
}

}  // namespace

void IpcWhereAllIsClosed(Program* p, bool shared_table) {
  const Exporter exporter = Exporter::Start(p, [&](Program* child, int socket) {
    if (shared_table) ForbidOwnTables();
    ClosingExporter(child, socket);
  });
  const auto handle = Hear<CUipcMemHandle>(exporter.socket);
  p->Start();
  OpensRight(p, handle, 1);
  PipesEnd(p);
  Tell(exporter.socket, 'y');
  Hear<char>(exporter.socket);
  // Who waits in accept for the next connection gets one, and goes on to the number's new owner.
  close(ConnectToExporter(handle));
  usleep(100'000);
  Tell(exporter.socket, 'y');
  const auto result = Hear<CUresult>(exporter.socket);
  CUdeviceptr memory = 0;
  if (shared_table) {
    CHECK(result != CUDA_SUCCESS);
    CHECK(p->api.IpcOpenMemHandle(&memory, handle, kFlags) == CUDA_ERROR_INVALID_HANDLE);
  } else {
    CHECK_OK(result);
    OpensRight(p, Hear<CUipcMemHandle>(exporter.socket), 2);
    OpensRight(p, handle, 1);
  }
  Tell(exporter.socket, 'y');
  int status = 0;
  CHECK(waitpid(exporter.process, &status, 0) == exporter.process);
  CHECK(status == 0);
}

namespace {

void PatientExporter(Program* p, int peer) {
  p->Start();
  Tell(peer, HandleOf(p, Filled(p, 1)));
  char more = 0;
  while (recv(peer, &more, 1, 0) == 1) {
  }
}

}  // namespace

// Mute connections, more than are listened to at once, do not keep anybody.
void IpcBesideTheMute(Program* p) {
  const Exporter exporter = Exporter::Start(p, PatientExporter);
  const auto handle = Hear<CUipcMemHandle>(exporter.socket);
  p->Start();
  std::vector<int> mute;
  auto best = Clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 70; ++k) mute.push_back(ConnectToExporter(handle));
    const auto before = Clock::now();
    OpensRight(p, handle, 1);
    best = std::min(best, Clock::now() - before);
  }
  if (best > std::chrono::milliseconds(500)) {
    Fail("opening took " + std::to_string(best / std::chrono::milliseconds(1)) + " ms");
  }
  // One that asks and does not read, a hundred times: they go.
  unsigned long long request[kIpcRequestWords];
  IpcRequestFor(handle, request);
  for (int k = 0; k < 100; ++k) {
    mute.push_back(ConnectToExporter(handle));
    CHECK(send(mute.back(), request, sizeof(request), MSG_NOSIGNAL) == sizeof(request));
  }
  OpensRight(p, handle, 1);
  for (const int socket : mute) close(socket);
  OpensRight(p, handle, 1);
  exporter.End();
}

// While one thread waits for a process that does not answer, others open what others share.
void IpcBesideOneThatWaits(Program* p) {
  const Exporter stopped = Exporter::Start(p, PatientExporter);
  const auto late = Hear<CUipcMemHandle>(stopped.socket);
  const Exporter exporter = Exporter::Start(p, PatientExporter);
  const auto handle = Hear<CUipcMemHandle>(exporter.socket);
  p->Start();
  CHECK(kill(stopped.process, SIGSTOP) == 0);
  int status = 0;
  CHECK(waitpid(stopped.process, &status, WUNTRACED) == stopped.process && WIFSTOPPED(status));
  CUdeviceptr opened[2] = {};
  std::vector<std::thread> threads;
  for (CUdeviceptr& memory : opened) {
    threads.emplace_back([p, &late, &memory] {
      CHECK_OK(p->api.CtxSetCurrent(p->context));
      CHECK_OK(p->api.IpcOpenMemHandle(&memory, late, kFlags));
    });
  }
  usleep(100'000);
  // Both wait by now, or will: whichever way, this is not for them to hold up.
  for (int i = 0; i < 3; ++i) OpensRight(p, handle, 1);
  CHECK(kill(stopped.process, SIGCONT) == 0);
  for (std::thread& thread : threads) thread.join();
  CHECK(opened[0] != 0 && opened[0] == opened[1]);
  for (const CUdeviceptr memory : opened) CHECK_OK(p->api.IpcCloseMemHandle(memory));
  CHECK(p->api.IpcCloseMemHandle(opened[0]) != CUDA_SUCCESS);
  OpensRight(p, late, 1);
  stopped.End();
  exporter.End();
}
