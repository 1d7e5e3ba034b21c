// What glibc 2.30 and 2.32 have of threads.
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {

#define VS_COMPAT __attribute__((visibility("hidden")))

// The C++ library leaves locked instructions out where this is not 0.
VS_COMPAT char __libc_single_threaded = 0;

VS_COMPAT pid_t gettid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // extern "C"
