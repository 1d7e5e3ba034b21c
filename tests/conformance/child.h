// Parts of a rule that need a process of their own: because their context dies, or because the rule
// is about two processes. A child is this program again with the name of a role.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_CHILD_H_
#define VRAMSPAN_TESTS_CONFORMANCE_CHILD_H_

#include <sys/types.h>

#include <string>

namespace vramspan::conformance {

// Registers what a child of this name does: its exit code, with the reasons on stderr. Exceptions
// end it with 1. Make one at namespace scope.
class Role {
 public:
  using Function = int (*)();
  Role(const char* name, Function function);
};

// Runs the role that the arguments name; -1 where they name none. The first thing in main().
int RunRole(int argc, char** argv);

// In a child that was given one: its end of the socket.
inline constexpr int kChildSocket = 3;

class Child {
 public:
  explicit Child(const std::string& role);
  ~Child();  // kills it if it was not waited for
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int socket() const { return socket_; }
  // Waits for the end: the exit code, or 128 and the number of the signal that killed it.
  int Wait();
  // What it wrote. REQUIRES: waited for.
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_CHILD_H_
