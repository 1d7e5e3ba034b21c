#include "runtime/base/thread.h"

#include <absl/strings/str_cat.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Fixed, as a limit of the program's (ulimit -s) may be unlimited or tiny. Address space only:
// drivers are called from threads of this size in every Java program.
constexpr size_t kStack = size_t{2} << 20;

struct Start {
  const char* name;
  std::function<void()> body;
  std::function<void()> failed;
};

void* Run(void* given) {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  prctl(PR_SET_NAME, start->name);
  // Whoever finds its id by chance: its stack is not to be unwound by force.
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  if (!RunCaught(start->name, start->body) && start->failed != nullptr) {
    RunCaught(start->name, start->failed);
  }
  return nullptr;
}

// pthread_create with every signal blocked, which the new thread inherits.
int Create(pthread_t* id, const pthread_attr_t* attributes, Start* start) {
  sigset_t all, before;
  sigfillset(&all);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Their reports of a fault are made by a handler.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
#endif
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(id, attributes, &Run, start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

Thread& Thread::operator=(Thread&& other) noexcept {
  Join();
  id_ = other.id_;
  process_ = std::exchange(other.process_, kNone);
  return *this;
}

void Thread::Join() {
  if (std::exchange(process_, kNone) == getpid()) pthread_join(id_, nullptr);
}

void Thread::Detach() {
  if (std::exchange(process_, kNone) == getpid()) pthread_detach(id_);
}

StatusOr<Thread> StartThread(const char* name, std::function<void()> body,
                             std::function<void()> failed) {
  std::unique_ptr<Start> start(new (std::nothrow) Start{name, std::move(body), std::move(failed)});
  int error = ENOMEM;
  pthread_t id{};
  if (start != nullptr) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    error = Create(&id, &attributes, start.get());
    // Thread-local variables of the program's libraries may fill more than that.
    if (error == EINVAL) error = Create(&id, nullptr, start.get());
    pthread_attr_destroy(&attributes);
  }
  if (error == 0) {
    static_cast<void>(start.release());  // Run's.
    return Thread(id, getpid());
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the thread ", name, " cannot be made: ", std::strerror(error)));
}

void RunApart(const char* name, const std::function<void()>& body) {
  StatusOr<Thread> thread = StartThread(name, [&body] { body(); });
  if (thread.ok()) {
    thread->Join();
  } else {
    RunCaught(name, body);
  }
}

bool RunCaught(const char* what, const std::function<void()>& body) {
  // On the stack: there may be no memory.
  char text[256];
  try {
    body();
    return true;
  } catch (const std::exception& e) {
    std::snprintf(text, sizeof(text), "%s: stopped by an exception: %s", what, e.what());
  } catch (...) {
    std::snprintf(text, sizeof(text), "%s: stopped by an exception of unknown kind", what);
  }
  Log(LogLevel::kError, text);
  return false;
}

}  // namespace vramspan
