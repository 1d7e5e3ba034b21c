// The process in which something was made. A child of fork has all that its parent made as bytes:
// without the threads, with locks as they were held, on a driver that serves it no more. So what
// outlives a call remembers where it was made, and whoever comes to it from outside (a hook, a
// function of the public interface, a handler at exit) stands aside elsewhere, before any lock:
//
//   const OwnProcess process_ = OwnProcess::This();
//   if (!process_.Here()) return;
//
// Here() is three loads and a comparison. The kernel clears the word that it looks at in whoever
// gets a copy of the memory, by any call (MADV_WIPEONFORK); a handler of pthread_atfork does so as
// well, for kernels that cannot. A child that shares the memory (vfork, posix_spawn, CLONE_VM) is
// the same process here: it shares the threads and the locks, too.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_BASE_OWN_PROCESS_H_
#define VRAMSPAN_RUNTIME_BASE_OWN_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace vramspan {

class OwnProcess {
 public:
  constexpr OwnProcess() = default;  // Of none.
  static OwnProcess This() {
    const uint64_t number = word_.load(std::memory_order_acquire)->number.load();
    return OwnProcess(number != 0 ? number : Mark());
  }

  bool None() const { return number_ == 0; }
  bool Here() const {
    return number_ != 0 &&
           word_.load(std::memory_order_acquire)->number.load(std::memory_order_relaxed) == number_;
  }
  // For handlers at exit, which also run in a child that shares the memory and calls exit(): this
  // is the process itself. A system call.
  bool Ends() const;

 private:
  struct Word {
    std::atomic<uint64_t> number{0};  // 0: this process has not made anything yet.
    std::atomic<pid_t> id{0};
  };
  explicit constexpr OwnProcess(uint64_t number) : number_(number) {}
  static uint64_t Mark();
  static Word* MakeWord();

  static Word none_;  // Until there is one, and where the system has no page for it.
  static std::atomic<Word*> word_;

  uint64_t number_ = 0;  // Of all that a process and its children ever had, no two are alike.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_OWN_PROCESS_H_
