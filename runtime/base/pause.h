// What a thread does between two looks at something that another thread is about to write.
#ifndef VRAMSPAN_RUNTIME_BASE_PAUSE_H_
#define VRAMSPAN_RUNTIME_BASE_PAUSE_H_

namespace vramspan {

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // As long as x86's pause; `yield` is nothing on most of them.
#endif
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PAUSE_H_
