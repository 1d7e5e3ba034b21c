// Who is let in next, of the threads whose launches wait because as many are held as may be.
//
// What is held is released in the order in which it was let in. A launch that was not let in yet
// may go in any order: its thread is still inside the call, so nothing was submitted after it. Let
// in one behind the other, launches that want the same memory wait for it once.
//
// Everybody is let in after at most as many others as kMostPassed times those who wait.
//
// Pure: no clock, no lock, no allocation. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_ADMISSION_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_ADMISSION_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

class Admission {
 public:
  static constexpr uint64_t kMostPassed = 4;

  // Which memory a launch wants, roughly: pieces of 2 MiB whose numbers are 64 apart count as one.
  class Wanted {
   public:
    void Add(DevicePtr begin, Bytes size);
    void AddAll() { bits_ = ~uint64_t{0}; }
    // How many pieces it has that the other has not.
    int Beyond(const Wanted& other) const;

   private:
    uint64_t bits_ = 0;
  };

  struct Waiter {
    Wanted wanted;
    bool kernel = false;  // It names nothing but what kernels touch: more of these may be held.

    bool let_in = false;
    uint64_t came = 0;  // When so many had been let in.
    Waiter* next = nullptr;
  };

  Admission() = default;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  bool empty() const { return first_ == nullptr; }
  // It waits from here on, and is kept until it is let in.
  void Add(Waiter* waiter);
  // Lets one in, of all or of the kernels alone. Null: none of these waits, or another has waited
  // for too long.
  Waiter* LetIn(bool kernels_only);

 private:
  bool Overdue(const Waiter& waiter) const { return let_in_ - waiter.came > kMostPassed * size_; }

  Waiter* first_ = nullptr;  // In the order in which they came.
  Waiter** end_ = &first_;
  uint64_t size_ = 0, let_in_ = 0;
  Wanted last_;  // What the last one wanted.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_ADMISSION_H_
