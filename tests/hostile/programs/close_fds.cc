// A daemon closes the descriptors that it does not know, and opens its own data, which get their
// numbers.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

// All from 3 on but the driver's own.
void CloseOthers() {
  for (int fd = 3; fd < 256; ++fd) {
    char to[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), to, sizeof(to) - 1) < 0) continue;
    if (!std::string(to).starts_with("/memfd")) close(fd);
  }
}

}  // namespace

// `close_fds FOLDER`
HOSTILE_PROGRAM(close_fds) {
  constexpr int kFiles = 16;
  Start();
  const auto blocks = Blocks(argc > 2 ? 24 : 1);
  AddToAll(blocks, nullptr);
  OK(cuCtxSynchronize());
  CloseOthers();
  int files[kFiles];
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = std::string(argv[1]) + "/own" + std::to_string(i);
    files[i] = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(files[i], "MY DATA\n", 8) != 8) return 1;
  }
  for (int i = 0; i < 120; ++i) {
    AddToAll(blocks, nullptr);
    OK(cuCtxSynchronize());
    usleep(5000);
  }
  int bad = 0;
  for (const int file : files) {
    struct stat status {};
    bad += fstat(file, &status) != 0 || status.st_size != 8;
  }
  std::printf("%d files of the program were written to by somebody else\n", bad);
  return bad != 0;
}

// The same with descriptor 2: what comes next there is the program's. `closed_stderr FOLDER`
HOSTILE_PROGRAM(closed_stderr) {
  close(2);
  const std::string name = std::string(argv[1]) + "/own";
  const int data = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  Start();
  const auto blocks = Blocks(16);
  AddToAll(blocks, nullptr);
  CUdeviceptr none = 0;
  const CUresult refused = cuMemAlloc(&none, size_t{1} << 45);
  if (write(data, "payload\n", 8) != 8) return 1;
  for (const CUdeviceptr block : blocks) OK(cuMemFree(block));
  const off_t size = lseek(data, 0, SEEK_END);
  std::printf("descriptor %d, refused %d, %ld bytes\n", data, static_cast<int>(refused),
              static_cast<long>(size));
  return 0;
}
