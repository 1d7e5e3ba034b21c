#include "tests/base/refuse_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace vramspan {
namespace {

std::atomic<int> left{INT_MAX}, refusals{0};
std::atomic<bool> refusing{false};

}  // namespace

RefuseThreads::RefuseThreads(int allowed) {
  left.store(allowed);
  refusals.store(0);
  refusing.store(true);
}
RefuseThreads::~RefuseThreads() { refusing.store(false); }
int RefuseThreads::refused() { return refusals.load(); }

namespace {

// The test program's own code makes threads by StartThread alone: std::thread and the driver are
// libraries.
bool IsOurs(const void* caller) {
  static const int here = 0;
  Dl_info of_caller, of_program;
  return dladdr(caller, &of_caller) != 0 && dladdr(&here, &of_program) != 0 &&
         of_caller.dli_fbase == of_program.dli_fbase;
}

}  // namespace
}  // namespace vramspan

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* id, const pthread_attr_t* attributes, void* (*body)(void*),
    void* argument) noexcept {
  using namespace vramspan;
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (refusing.load() && IsOurs(__builtin_return_address(0)) && left.fetch_sub(1) <= 0) {
    refusals.fetch_add(1);
    return EAGAIN;
  }
  return real(id, attributes, body, argument);
}
