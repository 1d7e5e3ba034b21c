// A program with a lease that closes all descriptors which it does not know: 0 where it hears of a
// grant of 24 MiB all the same, and nothing is written to what it opens after.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "tests/lease/fake_member.h"

using namespace vramspan::lease;  // NOLINT

int main(int, char** arguments) {
  const auto failed = [](const char* what) {
    std::fprintf(stderr, "closing_program: %s\n", what);
    return 1;
  };
  vramspan_test::FakeMember member;
  const auto place = ParseBrokerPlace(arguments[1], "");
  auto client = Client::Start(*place, vramspan_test::kDevice, &member);
  if (!client.ok()) return failed("no broker");
  if (!(*client)->AwaitGrants(std::chrono::seconds(10))) return failed("no grants");
  for (int i = 3; i < 1100; ++i) close(i);
  // The program's own, at any number.
  int others[2];
  if (pipe2(others, O_NONBLOCK) != 0) return failed("no pipe");
  for (int i = 200; i < 1024; ++i) dup2(others[1], i);
  if (!member.Await([](const Standing& s) { return s.device() == vramspan::MiB(24); })) {
    return failed("it hears no more");
  }
  (*client)->Look();
  char byte;
  if (read(others[0], &byte, 1) >= 0) return failed("something was written to the program's pipe");
  return 0;
}
