// std::mutex with the annotations that clang's -Wthread-safety checks. Not absl::Mutex, because
// ThreadSanitizer understands std::mutex without an instrumented abseil, and because what is
// injected into a stranger's process should carry no second locking runtime.
#ifndef VRAMSPAN_RUNTIME_BASE_MUTEX_H_
#define VRAMSPAN_RUNTIME_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

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
      __builtin_ia32_pause();
    }
    mu_.lock();
  }
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

class CondVar {
 public:
  // May wake without a notification: wait in a loop over the condition.
  void Wait(Mutex& mu) VS_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // Returns false when `timeout` passed without a notification. Waits on the system clock, because
  // ThreadSanitizer of this generation does not see pthread_cond_clockwait; a clock that is set
  // back lengthens one wait, so waits must not be relied on for more than pacing.
  bool WaitFor(Mutex& mu, std::chrono::nanoseconds timeout) VS_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const bool notified =
        cv_.wait_until(lock, std::chrono::system_clock::now() +
                                 std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                     timeout)) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_MUTEX_H_
