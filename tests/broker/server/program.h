// A process of its own that speaks to the daemon as it is told: a child that passes datagrams on,
// and beats. The test has its pages.
#ifndef VRAMSPAN_TESTS_BROKER_SERVER_PROGRAM_H_
#define VRAMSPAN_TESTS_BROKER_SERVER_PROGRAM_H_

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/lease/message.h"
#include "runtime/lease/pages.h"
#include "tests/broker/server/daemon.h"

namespace vramspan::broker_test {

inline constexpr std::array<uint8_t, 16> kDevice = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// What the daemon has to give where it has 9 GiB: 1 is the reserve.
inline constexpr Bytes kAll = GiB(8);

class Program {
 public:
  // In the tenant of `cgroup`. It is connected when this returns.
  Program(const Daemon& daemon, const std::string& cgroup);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Send(const lease::Message& message);
  // Not of one byte. False: the child has no room for it.
  bool SendRaw(std::span<const uint8_t> datagram);
  void Hello(Bytes device, Bytes host = Bytes());
  void Adopt(Bytes device, Bytes host, uint64_t last_revision);
  // It uses so much of its grants, and wants so much more: its page, and a message.
  void Say(Bytes used, Bytes wanted);
  // Its launches have waited so long in all: with what it says next.
  void set_stalled(Duration stalled) { stalled_ = static_cast<uint64_t>(stalled.count()); }
  void Reconnect();
  void StopReading() { Command('n'); }
  void LetAChildSpeak() { Command('f'); }
  // It wants as much as it can get to have, uses all it gets, and gives what it is asked for.
  void BeGreedy(Bytes all);

  void Signal(int number) const;
  void Kill();

  // Takes what has come. Recalls are answered where it `answers`.
  void Take();
  // What it heard.
  bool welcomed() const { return welcomed_; }
  bool ended() const { return ended_; }
  Bytes grant() const { return grant_; }
  Bytes host() const { return host_; }
  const std::vector<lease::Message>& heard() const { return heard_; }
  int Count(lease::Type type) const;
  lease::BrokerPage page() const;
  int process_fd() const { return fds_[0]; }
  int broker_fd() const { return fds_[1]; }
  int channel() const { return channel_; }
  pid_t pid() const { return pid_; }
  void set_answers(bool answers) { answers_ = answers; }

 private:
  void Command(char command);
  void Hear(const lease::Message& message);
  void GiveBack(const lease::Message& recall);
  void WritePage();

  pid_t pid_ = -1;
  int channel_ = -1;
  int fds_[2] = {-1, -1};
  bool welcomed_ = false, ended_ = false, answers_ = true, greedy_ = false, said_hello_ = false;
  Bytes grant_, host_, used_, used_host_, wanted_, wanted_host_, all_;
  uint64_t stalled_ = 0;
  std::vector<lease::Message> heard_;
};

// Lets all of them take what comes, until it is so. False: it took longer than any machine needs.
bool Until(std::vector<Program*> programs, const std::function<bool()>& done);

// What the daemon believes that the program uses of the device.
Bytes DeviceUse(const Daemon& daemon, const Program& program);

// The daemon answers the hello of one more process.
bool Serves(const Daemon& daemon, const std::string& cgroup);

}  // namespace vramspan::broker_test

#endif  // VRAMSPAN_TESTS_BROKER_SERVER_PROGRAM_H_
