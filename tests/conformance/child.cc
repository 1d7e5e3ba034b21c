#include "tests/conformance/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>

namespace vramspan::conformance {
namespace {

constexpr char kFlag[] = "--role=";
constexpr unsigned kSeconds = 60;  // then a child is stuck

std::map<std::string, Role::Function>& Roles() {
  static auto* const roles = new std::map<std::string, Role::Function>();
  return *roles;
}

void RequireHere(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

}  // namespace

Role::Role(const char* name, Function function) { Roles()[name] = function; }

int RunRole(int argc, char** argv) {
  if (argc < 2 || strncmp(argv[1], kFlag, strlen(kFlag)) != 0) return -1;
  const auto role = Roles().find(argv[1] + strlen(kFlag));
  if (role == Roles().end()) {
    fprintf(stderr, "no such role: %s\n", argv[1]);
    return 2;
  }
  alarm(kSeconds);
  try {
    return role->second();
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

Child::Child(const std::string& role) {
  int sockets[2];
  RequireHere(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "socketpair");
  int pipes[2];
  RequireHere(pipe2(pipes, O_CLOEXEC) == 0, "pipe2");
  // Above the numbers that the child's descriptors are copied to.
  const int child_socket = fcntl(sockets[1], F_DUPFD_CLOEXEC, 10);
  const int child_pipe = fcntl(pipes[1], F_DUPFD_CLOEXEC, 10);
  RequireHere(child_socket >= 0 && child_pipe >= 0, "fcntl");
  close(sockets[1]);
  close(pipes[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_pipe, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_pipe, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_socket, kChildSocket);
  std::string name = "conformance_test";
  std::string flag = kFlag + role;
  char* argv[] = {name.data(), flag.data(), nullptr};
  const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(child_socket);
  close(child_pipe);
  socket_ = sockets[0];
  pipe_ = pipes[0];
  errno = error;
  RequireHere(error == 0, "posix_spawn");
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
  close(pipe_);
}

int Child::Wait() {
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(pipe_, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output_.append(buffer, static_cast<size_t>(count));
  }
  int status = 0;
  RequireHere(waitpid(pid_, &status, 0) == pid_, "waitpid");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vramspan::conformance
