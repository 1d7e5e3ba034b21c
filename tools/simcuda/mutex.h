#ifndef VRAMSPAN_TOOLS_SIMCUDA_MUTEX_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MUTEX_H_

// Locks that clang's thread safety analysis understands, over the standard ones (so that
// ThreadSanitizer understands them too). simcuda stands on its own: no header of the runtime here.

#include <pthread.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define SIMCUDA_ANNOTATION(x) __attribute__((x))
#else
#define SIMCUDA_ANNOTATION(x)
#endif

#define SIMCUDA_GUARDED_BY(x) SIMCUDA_ANNOTATION(guarded_by(x))
#define SIMCUDA_PT_GUARDED_BY(x) SIMCUDA_ANNOTATION(pt_guarded_by(x))
#define SIMCUDA_REQUIRES(...) SIMCUDA_ANNOTATION(requires_capability(__VA_ARGS__))
#define SIMCUDA_EXCLUDES(...) SIMCUDA_ANNOTATION(locks_excluded(__VA_ARGS__))
#define SIMCUDA_NO_ANALYSIS SIMCUDA_ANNOTATION(no_thread_safety_analysis)

namespace simcuda {

class SIMCUDA_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() SIMCUDA_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() SIMCUDA_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SIMCUDA_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SIMCUDA_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() SIMCUDA_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Every wait may return early: call it in a loop over the condition. Waits on the monotonic clock
// by a variable of POSIX: ThreadSanitizer of GCC 12 does not intercept pthread_cond_clockwait, by
// which the standard's waits on a steady clock.
class CondVar {
 public:
  CondVar() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cv_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~CondVar() { pthread_cond_destroy(&cv_); }
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mutex) SIMCUDA_REQUIRES(mutex) {
    pthread_cond_wait(&cv_, mutex.mutex_.native_handle());
  }
  void WaitFor(Mutex& mutex, std::chrono::microseconds timeout) SIMCUDA_REQUIRES(mutex) {
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
    at.tv_sec += seconds.count();
    at.tv_nsec += std::chrono::nanoseconds(timeout - seconds).count();
    if (at.tv_nsec >= 1'000'000'000) {
      ++at.tv_sec;
      at.tv_nsec -= 1'000'000'000;
    }
    pthread_cond_timedwait(&cv_, mutex.mutex_.native_handle(), &at);
  }
  void NotifyOne() { pthread_cond_signal(&cv_); }
  void NotifyAll() { pthread_cond_broadcast(&cv_); }

 private:
  pthread_cond_t cv_;
};

class SIMCUDA_ANNOTATION(capability("mutex")) SharedMutex {
 public:
  void Lock() SIMCUDA_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() SIMCUDA_ANNOTATION(release_capability()) { mutex_.unlock(); }
  void LockShared() SIMCUDA_ANNOTATION(acquire_shared_capability()) { mutex_.lock_shared(); }
  void UnlockShared() SIMCUDA_ANNOTATION(release_shared_capability()) { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class SIMCUDA_ANNOTATION(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) SIMCUDA_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~WriterLock() SIMCUDA_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SIMCUDA_ANNOTATION(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) SIMCUDA_ANNOTATION(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.LockShared();
  }
  ~ReaderLock() SIMCUDA_ANNOTATION(release_generic_capability()) { mutex_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MUTEX_H_
