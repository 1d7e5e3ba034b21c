// Descriptors that a process passes to the daemon: closing them may take for ever.
#include <gmock/gmock.h>
#include <sys/un.h>

#include <chrono>

#include "tests/broker/server/lingering.h"
#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

int ConnectHere(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  VS_CHECK(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

class Descriptors : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Hostile, Descriptors, testing::Values("/broker.sock", "/control.sock"));

TEST_P(Descriptors, HoldNobodyUp) {
  Daemon daemon;
  daemon.Start();
  daemon.PutInto(getpid(), "/hostile");
  const auto before = std::chrono::steady_clock::now();
  // The first ends with the message in it, the second by what the daemon thinks of it.
  for (const bool ends : {true, false}) {
    Lingering lingering;
    const int fd = ConnectHere(daemon.run() + GetParam());
    lingering.PassTo(fd, std::vector<char>(64));
    if (ends) close(fd);
    EXPECT_TRUE(Serves(daemon, "/a"));
    if (!ends) close(fd);
  }
  EXPECT_TRUE(Serves(daemon, "/b"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

}  // namespace
}  // namespace vramspan::broker_test
