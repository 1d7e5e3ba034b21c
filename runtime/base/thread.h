// Threads of ours in a process that is not: every std::thread of runtime/ and cupti_tracer/ is one
// of these instead (cmake/check_layers.sh).
//
// A thread of ours takes no signal of the program's, cannot be cancelled, has a name (at most 15
// letters), and never ends the process: where none can be made that is a Status, and an exception
// that leaves its body is told to the owner. A child of fork has none of its parent's threads and
// joins none.
#ifndef VRAMSPAN_RUNTIME_BASE_THREAD_H_
#define VRAMSPAN_RUNTIME_BASE_THREAD_H_

#include <pthread.h>
#include <sys/types.h>

#include <functional>
#include <utility>

#include "runtime/base/status.h"

namespace vramspan {

// One thread, or none. Joined at the latest when it is destroyed or assigned to.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept
      : id_(other.id_), process_(std::exchange(other.process_, kNone)) {}
  Thread& operator=(Thread&& other) noexcept;
  ~Thread() { Join(); }

  bool joinable() const { return process_ != kNone; }
  void Join();  // Of a thread of the parent's, in a child of fork: does nothing.
  void Detach();

 private:
  friend StatusOr<Thread> StartThread(const char* name, std::function<void()> body,
                                      std::function<void()> failed);
  Thread(pthread_t id, pid_t process) : id_(id), process_(process) {}

  static constexpr pid_t kNone = 0;
  pthread_t id_{};
  pid_t process_ = kNone;  // In which it runs.
};

// Runs `body` on a thread of its own. Where an exception leaves the body, one line says so,
// `failed` is called on that thread, and the thread ends. ResourceExhausted, naming the thread:
// none is to be had. Throws nothing, if the functions hold no more than two words.
StatusOr<Thread> StartThread(const char* name, std::function<void()> body,
                             std::function<void()> failed = nullptr);

// Runs `body` on a thread of its own and waits for its end; on the calling thread where none is to
// be had. For the end of a process, when what the driver keeps for the calling thread may be gone.
void RunApart(const char* name, const std::function<void()>& body);

// Calls `body`. False where an exception left it: one line, which begins with `what`, has said so.
bool RunCaught(const char* what, const std::function<void()>& body);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_THREAD_H_
