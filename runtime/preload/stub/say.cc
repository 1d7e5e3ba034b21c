#include "runtime/preload/stub/say.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/preload/stub/loader.h"

namespace vramspan::stub {
namespace {

// The kernel's layout, which is glibc's on machines of 64 bits. Function and layout of fstat have
// changed their names in glibc, so the kernel is asked.
struct stat then = {};

bool Look(struct stat* found) {
  long result = 0;
#if defined(__x86_64__)
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(SYS_fstat), "D"(STDERR_FILENO), "S"(found)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number __asm__("x8") = SYS_fstat;
  register long descriptor __asm__("x0") = STDERR_FILENO;
  register struct stat* to __asm__("x1") = found;
  __asm__ volatile("svc 0" : "+r"(descriptor) : "r"(number), "r"(to) : "memory");
  result = descriptor;
#endif
  return result == 0;
}

struct Line {
  char text[1024];
  size_t size = 0;
  void Add(const char* words) {
    // Room for the end of the line is kept.
    while (*words != '\0' && size < sizeof(text) - 1) text[size++] = *words++;
  }
};

}  // namespace

void RememberStderr() {
  if (!Look(&then)) then.st_mode = 0;
}

void SayAsWithout(const char* why) {
  const Loader& loader = TheLoader();
  if (loader.write == nullptr || loader.sigprocmask == nullptr || loader.sigtimedwait == nullptr) {
    return;
  }
  const char* const level = loader.getenv != nullptr ? loader.getenv("VRAMSPAN_LOG") : nullptr;
  if (level != nullptr && Equal(level, "off")) return;
  struct stat now = {};
  if (then.st_mode == 0 || !Look(&now) || now.st_dev != then.st_dev || now.st_ino != then.st_ino) {
    return;
  }
  Line line;
  line.Add("vramspan: this program runs as without vramspan: ");
  line.Add(why);
  line.text[line.size++] = '\n';
  // SIGPIPE where nobody reads. One that is blocked already is the program's business.
  sigset_t pipe = {}, before = {};
  pipe.__val[0] = 1ul << (SIGPIPE - 1);
  if (loader.sigprocmask(SIG_BLOCK, &pipe, &before) != 0) return;
  const bool blocked = (before.__val[0] & pipe.__val[0]) != 0;
  const ssize_t wrote = loader.write(STDERR_FILENO, line.text, line.size);
  if (wrote < 0 && !blocked) {
    const timespec none = {};
    loader.sigtimedwait(&pipe, nullptr, &none);
  }
  loader.sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace vramspan::stub
