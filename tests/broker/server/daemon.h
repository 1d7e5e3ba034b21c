// The real daemon as a child, in folders of its own.
#ifndef VRAMSPAN_TESTS_BROKER_SERVER_DAEMON_H_
#define VRAMSPAN_TESTS_BROKER_SERVER_DAEMON_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_binary.h"

namespace vramspan::broker_test {

class Daemon {
 public:
  struct How {
    std::string capacity = "device=9GiB,host=32GiB";     // Empty: NVML, the stand-in's.
    uint64_t descriptors = 0;                            // Its limit, if any.
    std::string notify = {};                             // NOTIFY_SOCKET.
    std::vector<std::pair<std::string, int>> kept = {};  // Descriptors, as systemd hands them on.
    bool kept_for_another = false;                       // By LISTEN_PID.
    std::vector<std::string> options = {};               // More of them.
  };

  ~Daemon();
  // Ready when it returns. May be started again after it has ended.
  void Start(const How& how);
  void Start() { Start(How()); }
  // Runs it though it will not serve; what it says.
  std::string StartInVain(const How& how);
  std::string StartInVain() { return StartInVain(How()); }

  void Signal(int number) const;
  void Kill();  // And waits for its end.
  int End();    // By SIGTERM; its exit code.
  // Until it has said `text`, in any line since it was started.
  void WaitToSay(const std::string& text);
  // Waits for more of what it says. False: it has ended.
  bool ReadMore();
  // What it has said already.
  void ReadWhatIsThere();
  // Nobody reads what it says, until one of those: there is no room for more of it.
  void FillItsPipe() const;
  // What it has computed so far.
  double CpuSeconds() const;

  // What an operator asks: all answers.
  std::vector<std::string> Ask(const std::string& request) const;
  // "" where it was done, else why not.
  std::string Set(const std::string& tenant, const std::string& key,
                  const std::string& value) const;

  void WriteTenant(const std::string& file, const std::string& text) const;
  void RemoveTenant(const std::string& file) const;
  // By the kernel's stand-in the process is in this cgroup.
  void PutInto(pid_t pid, const std::string& cgroup) const;
  // What the stand-in of NVML shows: lines "PID BYTES" below "CAPACITY USED".
  void ShowUse(const std::string& text) const;

  std::string run() const { return folder_.path() + "/run"; }
  std::string config() const { return folder_.path() + "/config"; }
  std::string said() const { return said_; }
  pid_t pid() const { return pid_; }

 private:
  void Spawn(const How& how);

  const TemporaryFolder folder_;
  pid_t pid_ = -1;
  int errors_ = -1;
  std::string said_;
};

}  // namespace vramspan::broker_test

#endif  // VRAMSPAN_TESTS_BROKER_SERVER_DAEMON_H_
