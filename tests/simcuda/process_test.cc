// What concerns more than one process, or a process with other settings: each case runs in a child
// that has not used the driver yet.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

// Runs the function in a child; its return value is the child's exit code.
int InChild(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void SendDescriptor(int socket, int descriptor) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
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
  if (recvmsg(socket, &message, 0) != 1) return -1;
  int descriptor = -1;
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return descriptor;
}

// The same memory once more, as that of another API.
bool ReadsItAsExternal(int descriptor, unsigned wanted) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {};
  d.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  d.handle.fd = descriptor;
  d.size = kGranularity;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = {};
  whole.size = kGranularity;
  CUexternalMemory memory = nullptr;
  CUdeviceptr buffer = 0;
  unsigned word = 0;
  return cuImportExternalMemory(&memory, &d) == CUDA_SUCCESS &&
         cuExternalMemoryGetMappedBuffer(&buffer, memory, &whole) == CUDA_SUCCESS &&
         cuMemcpyDtoH(&word, buffer, sizeof(word)) == CUDA_SUCCESS && word == wanted &&
         cuMemFree(buffer) == CUDA_SUCCESS && cuDestroyExternalMemory(memory) == CUDA_SUCCESS;
}

// The child of the sharing test: imports, maps, checks what it reads, writes an answer.
int ImportAndAnswer(int socket, bool device) {
  const int descriptor = ReceiveDescriptor(socket);
  CUcontext context = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  CUmemAllocationProp prop = {};
  const CUmemAccessDesc access = DeviceAccess();
  unsigned word = 0;
  if (descriptor < 0 || cuInit(0) != CUDA_SUCCESS) return 1;
  if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 2;
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return 3;
  if (cuMemImportFromShareableHandle(&handle,
                                     reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS) {
    return 4;
  }
  if (cuMemGetAllocationPropertiesFromHandle(&prop, handle) != CUDA_SUCCESS) return 5;
  const CUmemLocationType wanted =
      device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST_NUMA;
  if (prop.location.type != wanted) return 6;
  if (cuMemAddressReserve(&address, kGranularity, 0, 0, 0) != CUDA_SUCCESS) return 7;
  if (cuMemMap(address, kGranularity, 0, handle, 0) != CUDA_SUCCESS) return 8;
  if (cuMemSetAccess(address, kGranularity, &access, 1) != CUDA_SUCCESS) return 9;
  if (cuMemcpyDtoH(&word, address, sizeof(word)) != CUDA_SUCCESS || word != 1111) return 10;
  if (device && !ReadsItAsExternal(descriptor, 1111)) return 13;
  if (cuMemsetD32(address, 2222, 1) != CUDA_SUCCESS) return 11;
  if (cuCtxSynchronize() != CUDA_SUCCESS) return 12;
  return 0;
}

int ExportToChild(bool device) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 20;
  const pid_t child = fork();  // before either has used the driver
  if (child == 0) _exit(ImportAndAnswer(sockets[1], device));
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS) return 21;
  if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 22;
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return 23;
  CUmemAllocationProp prop = device ? DeviceProp() : HostProp();
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const Chunk chunk = MapChunk(prop);
  if (cuMemsetD32(chunk.address, 1111, 1) != CUDA_SUCCESS) return 24;
  if (cuCtxSynchronize() != CUDA_SUCCESS) return 25;
  int descriptor = -1;
  if (cuMemExportToShareableHandle(&descriptor, chunk.handle,
                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS) {
    return 26;
  }
  SendDescriptor(sockets[0], descriptor);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return 27;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  unsigned word = 0;
  if (cuMemcpyDtoH(&word, chunk.address, sizeof(word)) != CUDA_SUCCESS) return 28;
  return word == 2222 ? 0 : 29;
}

TEST(ProcessTest, ChunksAreSharedByDescriptor) {
  EXPECT_EQ(InChild([] { return ExportToChild(true); }), 0);
  EXPECT_EQ(InChild([] { return ExportToChild(false); }), 0);
}

TEST(ProcessTest, OnlyExportableHandlesAreExported) {
  EXPECT_EQ(InChild([] {
              const CUmemAllocationProp prop = DeviceProp();
              CUmemGenericAllocationHandle handle = 0;
              int descriptor = -1;
              if (cuInit(0) != CUDA_SUCCESS) return 1;
              if (cuMemCreate(&handle, kGranularity, &prop, 0) != CUDA_SUCCESS) return 2;
              const CUresult result = cuMemExportToShareableHandle(
                  &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
              if (result != CUDA_ERROR_INVALID_VALUE) return 3;
              return cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{0}),
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
                             CUDA_ERROR_INVALID_VALUE
                         ? 0
                         : 4;
            }),
            0);
}

TEST(ProcessTest, NothingWorksBeforeInitialisation) {
  EXPECT_EQ(
      InChild([] {
        int count = 0;
        CUdeviceptr address = 0;
        if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED) return 1;
        if (cuMemAddressReserve(&address, kGranularity, 0, 0, 0) != CUDA_ERROR_NOT_INITIALIZED) {
          return 2;
        }
        void* function = nullptr;
        if (cuGetProcAddress("cuInit", &function, 13000, 0, nullptr) != CUDA_SUCCESS) return 3;
        if (cuInit(5) != CUDA_ERROR_INVALID_VALUE) return 4;
        return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS ? 0 : 5;
      }),
      0);
}

// As with the real driver, what was initialised before a fork is of no use after it.
TEST(ProcessTest, AForkedChildIsNotInitialised) {
  EXPECT_EQ(InChild([] {
              if (cuInit(0) != CUDA_SUCCESS) return 1;
              return InChild([] {
                int count = 0;
                if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED) return 2;
                return cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 3;
              });
            }),
            0);
}

TEST(ProcessTest, SettingsOfTheEnvironment) {
  EXPECT_EQ(
      InChild([] {
        setenv("SIMCUDA_DEVICES", "3", 1);
        setenv("SIMCUDA_DEVICE_MEMORY", "64MiB", 1);
        setenv("SIMCUDA_COMPUTE_CAPABILITY", "8.6", 1);
        setenv("SIMCUDA_DRIVER_VERSION", "12000", 1);
        setenv("SIMCUDA_HOST_VMM", "0", 1);
        setenv("SIMCUDA_FAIL", "cuMemCreate:2=2,cuDeviceGetCount:always", 1);
        int value = 0;
        size_t bytes = 0;
        CUmemGenericAllocationHandle handle = 0;
        if (cuInit(0) != CUDA_SUCCESS) return 1;
        if (cuDeviceGet(&value, 2) != CUDA_SUCCESS) return 2;
        if (cuDeviceTotalMem(&bytes, 2) != CUDA_SUCCESS || bytes != 64 * kMiB) return 3;
        cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
        if (value != 6) return 4;
        cuDriverGetVersion(&value);
        if (value != 12000) return 5;
        void* function = nullptr;
        if (cuGetProcAddress("cuInit", &function, 12010, 0, nullptr) != CUDA_ERROR_INVALID_VALUE) {
          return 6;
        }
        const CUmemAllocationProp host = HostProp();
        const CUmemAllocationProp device = DeviceProp();
        if (cuMemCreate(&handle, kGranularity, &host, 0) != CUDA_ERROR_NOT_SUPPORTED) return 7;
        if (cuMemCreate(&handle, kGranularity, &device, 0) != CUDA_ERROR_OUT_OF_MEMORY) {
          return 8;
        }
        if (cuMemCreate(&handle, kGranularity, &device, 0) != CUDA_SUCCESS) return 9;
        return cuDeviceGetCount(&value) == CUDA_ERROR_UNKNOWN ? 0 : 10;
      }),
      0);
}

TEST(ProcessTest, SettingsThatMakeNoSenseEndTheProcess) {
  EXPECT_EQ(InChild([] {
              setenv("SIMCUDA_DEVICE_MEMORY", "8Gib", 1);
              cuInit(0);
              return 0;
            }),
            2);
}

}  // namespace
}  // namespace simcuda
