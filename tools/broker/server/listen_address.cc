#include "tools/broker/server/listen_address.h"

#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

constexpr int kBacklog = 16;

template <typename Address>
void Keep(const Address& from, bool loopback, ListenAddress* to) {
  memcpy(&to->address, &from, sizeof from);
  to->size = sizeof from;
  to->loopback = loopback;
}

}  // namespace

StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto refused = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics: '", Repeated(text),
                     "' is no address and port; use 127.0.0.1:9477, [::1]:9477 or 9477"));
  };
  const size_t colon = text.rfind(':');
  std::string host = "127.0.0.1";
  if (colon != std::string_view::npos) host = std::string(text.substr(0, colon));
  uint64_t port = 0;
  const std::string_view digits = text.substr(colon == std::string_view::npos ? 0 : colon + 1);
  if (digits.empty() || !ParseDigits(digits, &port) || port > UINT16_MAX) return refused();
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  ListenAddress result;
  if (bracketed) {
    sockaddr_in6 six = {};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six.sin6_addr) != 1) {
      return refused();
    }
    Keep(six, IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0, &result);
    return result;
  }
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) != 1) return refused();
  Keep(four, (ntohl(four.sin_addr.s_addr) >> 24) == 127, &result);
  return result;
}

std::string AddressText(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six = {};
    memcpy(&six, &address, sizeof six);
    inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    return absl::StrCat("[", text.data(), "]:", ntohs(six.sin6_port));
  }
  sockaddr_in four = {};
  memcpy(&four, &address, sizeof four);
  inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  return absl::StrCat(text.data(), ":", ntohs(four.sin_port));
}

StatusOr<Fd> ListenAtAddress(const ListenAddress& address, std::string_view what) {
  Fd socket(::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return SystemError(what);
  const int on = 1;
  // A broker that comes back finds the port free.
  if (setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) {
    return SystemError(what);
  }
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.address);
  if (bind(socket.get(), to, address.size) != 0) return SystemError(what);
  if (listen(socket.get(), kBacklog) != 0) return SystemError(what);
  return socket;
}

}  // namespace vramspan::broker
