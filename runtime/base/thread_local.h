// Thread-local variables of the launch path. Code that is a shared library finds such a variable
// with a call of the loader's (__tls_get_addr): 18 % of what our hook added to a launch while
// memory sufficed, as perf counted on a build machine. This model finds it by an offset from the
// thread's register.
//
// The price: a library that is opened while the program runs takes its variables from a small space
// that the loader keeps (glibc: 1,664 bytes for all libraries). Few and small ones only.
#ifndef VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_
#define VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_

#include <utility>

#define VS_HOT_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) constinit thread_local

namespace vramspan {

// One T for each thread that asks, made when it first does and gone with the thread: for what is
// too large for such a variable, or has a destructor. Of one T there is one set in the process.
template <typename T>
class PerThread {
 public:
  static T& Mine() { return mine_ != nullptr ? *mine_ : Make(); }

 private:
  // A thread that asks again while its own variables go has another, and loses that.
  struct Owner {
    ~Owner() { delete std::exchange(mine_, nullptr); }
  };
  __attribute__((noinline)) static T& Make() {
    thread_local Owner owner;
    static_cast<void>(&owner);
    return *(mine_ = new T());
  }

  static inline VS_HOT_THREAD_LOCAL T* mine_ = nullptr;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_
