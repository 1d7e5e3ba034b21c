// Ends the process, saying what has not ended, unless it is destroyed in time: what a test of the
// mover would show first is a hang, and a hang without a name is worth little.
#ifndef VRAMSPAN_TESTS_MOVER_WATCHDOG_H_
#define VRAMSPAN_TESTS_MOVER_WATCHDOG_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace vramspan_test {

class Watchdog {
 public:
  explicit Watchdog(std::string what, int seconds = 60);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // What is being done from here on, told beside `what`. The time runs on.
  void Doing(std::string step);

 private:
  void Watch(int seconds);

  const std::string what_;
  std::mutex mu_;
  std::condition_variable wake_;
  std::string step_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_WATCHDOG_H_
