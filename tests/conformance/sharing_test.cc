// Handles that go to another process as file descriptors.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tests/conformance/child.h"
#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

constexpr size_t kSharedBytes = 4 * kChunk;
constexpr char kOk = 'y';

void SendDescriptor(int socket, int fd) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(fd));
  memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) throw std::runtime_error("sendmsg failed");
}

int ReceiveDescriptor(int socket) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const cmsghdr* header = nullptr;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1) header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) throw std::runtime_error("recvmsg brought no descriptor");
  int fd = -1;
  memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
}

void Say(int socket, char word) {
  if (send(socket, &word, 1, MSG_NOSIGNAL) != 1) throw std::runtime_error("send failed");
}

char Hear(int socket) {
  char word = 0;
  if (recv(socket, &word, 1, 0) != 1) throw std::runtime_error("the other process is gone");
  return word;
}

void Require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

// Imports what it is sent, checks and changes it, and checks once more when the exporter has let go
// of it.
int Import() {
  const World& world = World::Get();
  const int fd = ReceiveDescriptor(kChildSocket);
  CUmemGenericAllocationHandle raw = 0;
  Must(world.MemImportFromShareableHandle(&raw, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       "cuMemImportFromShareableHandle");
  close(fd);
  const Handle handle = Handle::Adopt(raw, kSharedBytes);
  Span span(1, kSharedBytes);
  span.Map(0, handle);
  Require(KernelSeesHash(span.at(0), kSharedBytes, 1), "the importer sees other contents");
  FillHash(span.at(0), kSharedBytes, 2);
  Say(kChildSocket, kOk);
  Require(Hear(kChildSocket) == kOk, "the exporter saw other contents");
  Require(KernelSeesHash(span.at(0), kSharedBytes, 2), "contents went with the exporter's mapping");
  return 0;
}
const Role import("import", Import);

class Sharing : public Conformance {
 protected:
  void ExpectSharedWithAnotherProcess(Where where) {
    Child child("import");
    {
      Handle handle = Handle::Exportable(where, kSharedBytes);
      Span span(1, kSharedBytes);
      span.Map(0, handle);
      FillHash(span.at(0), kSharedBytes, 1);
      int fd = -1;
      CU_OK(world_.MemExportToShareableHandle(&fd, handle.get(),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
      SendDescriptor(child.socket(), fd);
      close(fd);
      char word = 0;
      ASSERT_EQ(recv(child.socket(), &word, 1, 0), 1) << (child.Wait(), child.output());
      EXPECT_TRUE(KernelSeesHash(span.at(0), kSharedBytes, 2)) << where;
    }
    Say(child.socket(), kOk);
    const int code = child.Wait();
    EXPECT_EQ(code, 0) << child.output();
  }
};

TEST_F(Sharing, DeviceHandlesGoToAnotherProcess) { ExpectSharedWithAnotherProcess(Where::kDevice); }

TEST_F(Sharing, AKindThatWasNotAskedForIsInvalid) {
  const Handle handle(Where::kDevice);
  CUmemFabricHandle fabric = {};
  int fd = -1;
  EXPECT_EQ(world_.MemExportToShareableHandle(&fabric, handle.get(), CU_MEM_HANDLE_TYPE_FABRIC, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(world_.MemExportToShareableHandle(&fd, handle.get(),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Sharing, ALegacyHandleThatIsNoneIsInvalid) {
  CUipcMemHandle garbage;
  memset(&garbage, 0x5a, sizeof(garbage));
  CUdeviceptr at = 0;
  EXPECT_EQ(world_.IpcOpenMemHandle(&at, garbage, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Sharing, HostHandlesGoToAnotherProcess) { ExpectSharedWithAnotherProcess(Where::kHostNuma); }

}  // namespace
}  // namespace vramspan::conformance
