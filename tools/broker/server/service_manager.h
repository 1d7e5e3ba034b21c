// What systemd is told of the daemon, and what it kept of the one before: listening sockets, so
// that who connects while the daemon starts again waits for it (sd_notify(3), FDSTORE, and
// sd_listen_fds(3)). Without systemd nothing is told, and nothing was kept.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_SERVICE_MANAGER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_SERVICE_MANAGER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/server/alarm.h"
#include "tools/broker/server/fd.h"
#include "tools/broker/server/loop.h"

namespace vramspan::broker {

class ServiceManager {
 public:
  // Of the environment, which says nothing of it any more then. Called once, before descriptors are
  // opened.
  ServiceManager();

  // The socket that listens at `path`: the one that was kept, if it is that indeed, else a new one.
  StatusOr<Fd> ListenAt(const std::string& path, mode_t mode);
  // Has it kept from here on. True: it outlives the daemon, so its path is to stay.
  bool Keep(const Fd& listening, const std::string& path);
  // What was kept and nobody asked for is let go. The daemon is ready: that is said at once, or as
  // soon as there is room for it. `loop` ends before this does.
  Status Ready(Loop& loop);

 private:
  struct Kept {
    std::string name;
    Fd fd;
  };

  enum class Sent : uint8_t { kSent, kFull, kNot };
  Sent Send(std::string_view text, int descriptor = -1) const;
  void SayReady();
  // The socket that was kept and listens there. None: there is none.
  Fd TakeKept(const std::string& path);
  void Forget(Kept& kept) const;

  std::string notify_;
  std::vector<Kept> kept_;
  Alarm again_;
  bool said_full_ = false;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_SERVICE_MANAGER_H_
