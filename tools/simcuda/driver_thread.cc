#include "tools/simcuda/driver_thread.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <csignal>
#include <exception>
#include <thread>
#include <utility>

namespace simcuda {

void StartDriverThread(const char* name, std::function<void()> body) {
  sigset_t most, before;
  sigfillset(&most);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&most, fault);
  // A new thread has its maker's mask.
  pthread_sigmask(SIG_SETMASK, &most, &before);
  std::exception_ptr none;
  try {
    std::thread([name, run = std::move(body)] {
      prctl(PR_SET_NAME, name);
      run();
    }).detach();
  } catch (...) {
    none = std::current_exception();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (none != nullptr) std::rethrow_exception(none);
}

}  // namespace simcuda
