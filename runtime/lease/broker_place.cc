#include "runtime/lease/broker_place.h"

#include <sys/un.h>

#include "runtime/base/clean_text.h"

namespace vramspan::lease {
namespace {

constexpr std::string_view kSocket = "/broker.sock";
constexpr size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

StatusOr<BrokerPlace> ParseBrokerPlace(std::string_view text, std::string_view runtime_folder) {
  BrokerPlace place;
  place.asked = text != "off";
  place.required = text == "require";
  place.named = !text.empty() && text.front() == '/';
  if (!place.asked) return place;
  if (place.named) {
    if (text.size() + kSocket.size() > kMostPath) {
      return absl::InvalidArgumentError("'" + std::string(Repeated(text)) +
                                        "' is too long for the path of a socket; use a directory "
                                        "whose path has fewer letters");
    }
    place.sockets.push_back(std::string(text).append(kSocket));
    return place;
  }
  if (!text.empty() && !place.required) {
    return absl::InvalidArgumentError(
        "'" + std::string(Repeated(text)) +
        "' is not a broker; use off, require, or the path of a directory, which begins with '/'");
  }
  place.sockets.push_back(std::string("/run/vramspan").append(kSocket));
  if (!runtime_folder.empty() && runtime_folder.front() == '/') {
    const std::string path = std::string(runtime_folder).append("/vramspan").append(kSocket);
    if (path.size() <= kMostPath) place.sockets.push_back(path);
  }
  return place;
}

}  // namespace vramspan::lease
