#include "tests/base/refuse_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>

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

// Only StartThread asks for every signal to be blocked: the mask tells whose thread it is.
bool IsOurs() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGUSR1) == 1;
}

}  // namespace
}  // namespace vramspan

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* id, const pthread_attr_t* attributes, void* (*body)(void*),
    void* argument) noexcept {
  using namespace vramspan;
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (refusing.load() && IsOurs() && left.fetch_sub(1) <= 0) {
    refusals.fetch_add(1);
    return EAGAIN;
  }
  return real(id, attributes, body, argument);
}
