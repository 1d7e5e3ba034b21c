// Who holds grants, as a file in the run directory. It is no state: a new broker only learns from
// it that there is somebody to wait for (adoption). It is gone with the machine's boot.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_ROLL_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_ROLL_H_

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "tools/broker/server/client.h"
#include "tools/broker/server/device_name.h"

namespace vramspan::broker {

// How many processes of each device are in the text that live yet. What is no line of a roll counts
// for nothing.
std::map<Uuid, uint64_t> LivingIn(std::string_view text);

class Roll {
 public:
  explicit Roll(std::string path) : path_(std::move(path)) {}

  // Of the broker before. No file: nobody.
  StatusOr<std::map<Uuid, uint64_t>> Living() const;
  // Those who are connected and joined. Writes nothing where nothing has changed.
  Status Keep(const Clients& clients);

 private:
  const std::string path_;
  std::string kept_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_ROLL_H_
