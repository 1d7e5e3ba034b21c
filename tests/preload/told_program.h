// The test program under the preload, doing what it is told line by line (program_lease.cc).
#ifndef VRAMSPAN_TESTS_PRELOAD_TOLD_PROGRAM_H_
#define VRAMSPAN_TESTS_PRELOAD_TOLD_PROGRAM_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

namespace vramspan_test {

class ToldProgram {
 public:
  // Starts it, with these variables beside the loader's. What it says on stderr goes to a file.
  ToldProgram(const std::string& folder, const std::map<std::string, std::string>& environment);
  ~ToldProgram();  // Kills it.

  // Its next line; "" where none comes.
  std::string Line(std::chrono::milliseconds patience = std::chrono::seconds(60));
  void Tell(const std::string& line);
  // Tells it, and waits for the answer.
  std::string Do(const std::string& line) {
    Tell(line);
    return Line();
  }
  // Its exit code, or 128 and the signal.
  int End();
  void Signal(int signal);
  pid_t pid() const { return pid_; }
  std::string err() const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string read_;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_PRELOAD_TOLD_PROGRAM_H_
