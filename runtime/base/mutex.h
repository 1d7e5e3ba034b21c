// std::mutex with the annotations that clang's -Wthread-safety checks. Not absl::Mutex, because
// ThreadSanitizer understands std::mutex without an instrumented abseil, and because what is
// injected into a stranger's process should carry no second locking runtime.
#ifndef VRAMSPAN_RUNTIME_BASE_MUTEX_H_
#define VRAMSPAN_RUNTIME_BASE_MUTEX_H_

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <shared_mutex>

#include "runtime/base/pause.h"

#if defined(__clang__)
#define VRAMSPAN_ATTRIBUTE(x) __attribute__((x))
#else
#define VRAMSPAN_ATTRIBUTE(x)
#endif
#define VS_CAPABILITY(x) VRAMSPAN_ATTRIBUTE(capability(x))
#define VS_SCOPED_CAPABILITY VRAMSPAN_ATTRIBUTE(scoped_lockable)
#define VS_GUARDED_BY(x) VRAMSPAN_ATTRIBUTE(guarded_by(x))
#define VS_PT_GUARDED_BY(x) VRAMSPAN_ATTRIBUTE(pt_guarded_by(x))
#define VS_REQUIRES(...) VRAMSPAN_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VS_EXCLUDES(...) VRAMSPAN_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define VS_REQUIRES_SHARED(...) VRAMSPAN_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define VS_ACQUIRE(...) VRAMSPAN_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define VS_TRY_ACQUIRE(...) VRAMSPAN_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define VS_ACQUIRE_SHARED(...) VRAMSPAN_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define VS_RELEASE_SHARED(...) VRAMSPAN_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define VS_RELEASE(...) VRAMSPAN_ATTRIBUTE(release_capability(__VA_ARGS__))
#define VS_ASSERT_CAPABILITY(x) VRAMSPAN_ATTRIBUTE(assert_capability(x))
#define VS_RETURN_CAPABILITY(x) VRAMSPAN_ATTRIBUTE(lock_returned(x))
#define VS_NO_THREAD_SAFETY_ANALYSIS VRAMSPAN_ATTRIBUTE(no_thread_safety_analysis)

namespace vramspan {

class VS_CAPABILITY("mutex") Mutex {
 public:
  // Spins a little before it sleeps: what is done under these locks takes about a microsecond, and
  // a sleep costs the launching thread ten.
  void Lock() VS_ACQUIRE() {
    for (int i = 0; i < 200; ++i) {
      if (mu_.try_lock()) return;
      Pause();
    }
    mu_.lock();
  }
  bool TryLock() VS_TRY_ACQUIRE(true) { return mu_.try_lock(); }
  void Unlock() VS_RELEASE() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class VS_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) VS_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() VS_RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// For what many do at once and one changes. Who holds it shared does not take it again.
class VS_CAPABILITY("mutex") SharedMutex {
 public:
  void Lock() VS_ACQUIRE() { mu_.lock(); }
  void Unlock() VS_RELEASE() { mu_.unlock(); }
  void LockShared() VS_ACQUIRE_SHARED() { mu_.lock_shared(); }
  void UnlockShared() VS_RELEASE_SHARED() { mu_.unlock_shared(); }

 private:
  std::shared_mutex mu_;
};

class VS_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mu) VS_ACQUIRE_SHARED(mu) : mu_(mu) { mu_.LockShared(); }
  ~SharedLock() VS_RELEASE() { mu_.UnlockShared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mu_;
};

class VS_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mu) VS_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~ExclusiveLock() VS_RELEASE() { mu_.Unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  SharedMutex& mu_;
};

// Waits on the monotonic clock, which nobody sets back. A variable of POSIX: ThreadSanitizer of
// this generation does not see pthread_cond_clockwait, by which the standard's waits on a steady
// clock.
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

  // May wake without a notification: wait in a loop over the condition.
  void Wait(Mutex& mu) VS_REQUIRES(mu) { pthread_cond_wait(&cv_, mu.mu_.native_handle()); }
  // Returns false when `timeout` passed without a notification.
  bool WaitFor(Mutex& mu, std::chrono::nanoseconds timeout) VS_REQUIRES(mu) {
    constexpr std::chrono::hours kMost{24 * 365};  // What is longer must not overflow.
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::chrono::nanoseconds until = std::chrono::seconds(now.tv_sec) +
                                           std::chrono::nanoseconds(now.tv_nsec) +
                                           std::min<std::chrono::nanoseconds>(timeout, kMost);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(until);
    const timespec at{seconds.count(), (until - seconds).count()};
    return pthread_cond_timedwait(&cv_, mu.mu_.native_handle(), &at) != ETIMEDOUT;
  }
  void NotifyOne() { pthread_cond_signal(&cv_); }
  void NotifyAll() { pthread_cond_broadcast(&cv_); }

 private:
  pthread_cond_t cv_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_MUTEX_H_
