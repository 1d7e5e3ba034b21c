// A machine that is hostile to vramspan alone, for LD_PRELOAD: what it is refused or told wrongly
// here, a real one refuses or tells to the whole process.
//
//   HOSTILE_THREADS=N  only the first N threads that libvramspan_preload.so makes are to be had, as
//                      under a pids cgroup
//   HOSTILE_CLOCK=S    the wall clock is set back by S seconds whenever it has looked at it: what
//                      waits for a time of that clock waits that much longer
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <atomic>

namespace {

const char* Setting(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool IsVramspans(const void* code) {
  Dl_info info;
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         strstr(info.dli_fname, "libvramspan") != nullptr;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

using CreateThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using GetTime = int(clockid_t, timespec*);

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* how,
                                                                     void* (*run)(void*),
                                                                     void* argument) {
  static CreateThread* const real = Real<CreateThread>("pthread_create");
  static const char* const threads = Setting("HOSTILE_THREADS");
  static std::atomic<int> made{0};
  if (threads != nullptr && IsVramspans(__builtin_return_address(0)) && made++ >= atoi(threads)) {
    return EAGAIN;
  }
  return real(thread, how, run, argument);
}

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) {
  static GetTime* const real = Real<GetTime>("clock_gettime");
  static const char* const ahead = Setting("HOSTILE_CLOCK");
  const int result = real(clock, time);
  if (ahead != nullptr && clock == CLOCK_REALTIME && IsVramspans(__builtin_return_address(0))) {
    time->tv_sec += atoi(ahead);
  }
  return result;
}
