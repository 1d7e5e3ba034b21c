// Whoever has said something to other programs takes it back when the process ends by exit(). Most
// programs end without their runtime being destroyed, and who is killed says nothing.
//
// Threads: any. Errors: none. A child of fork, which has it all as bytes, does nothing.
#ifndef VRAMSPAN_RUNTIME_BACKING_LEAVES_AT_EXIT_H_
#define VRAMSPAN_RUNTIME_BACKING_LEAVES_AT_EXIT_H_

namespace vramspan {

class LeavesAtExit {
 public:
  LeavesAtExit(const LeavesAtExit&) = delete;
  LeavesAtExit& operator=(const LeavesAtExit&) = delete;

 protected:
  LeavesAtExit() = default;
  virtual ~LeavesAtExit() = default;

  // From here on LeaveAtExit may be called, until Gone has returned.
  void Joined();
  void Gone();

 private:
  // On the thread that ends the process, while others may still run: it waits for nobody for long.
  virtual void LeaveAtExit() = 0;
  static void AllLeave();
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_LEAVES_AT_EXIT_H_
