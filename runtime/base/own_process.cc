#include "runtime/base/own_process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace vramspan {

constinit OwnProcess::Word OwnProcess::none_;
constinit std::atomic<OwnProcess::Word*> OwnProcess::word_{&OwnProcess::none_};

OwnProcess::Word* OwnProcess::MakeWord() {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return &none_;
  // Where the kernel does not know it the handler below has to do.
  madvise(page, size, MADV_WIPEONFORK);
  Word* known = &none_;
  Word* const made = new (page) Word;
  if (word_.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  munmap(page, size);
  return known;
}

uint64_t OwnProcess::Mark() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    word_.load(std::memory_order_acquire)->number.store(0, std::memory_order_relaxed);
  });
  static_cast<void>(registered);
  static constinit std::atomic<uint64_t> last{0};
  Word* word = word_.load(std::memory_order_acquire);
  if (word == &none_) word = MakeWord();
  word->id.store(getpid(), std::memory_order_relaxed);
  uint64_t none = 0;
  const uint64_t number = last.fetch_add(1) + 1;
  return word->number.compare_exchange_strong(none, number) ? number : none;
}

bool OwnProcess::Ends() const {
  return Here() && word_.load(std::memory_order_acquire)->id.load() == getpid();
}

}  // namespace vramspan
