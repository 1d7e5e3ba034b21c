#include "tools/broker/server/http_request.h"

#include <absl/strings/str_cat.h>

namespace vramspan::broker {
namespace {

constexpr std::string_view kPath = "/metrics";

HttpAnswer Error(int code) { return {.code = code, .body = HttpAnswer::Body::kWords}; }

}  // namespace

HttpAnswer ReadHttpRequest(std::string_view bytes) {
  // What the headers say is nothing to us, but they have to end.
  const bool ends = bytes.find("\r\n\r\n") != std::string_view::npos ||
                    bytes.find("\n\n") != std::string_view::npos;
  if (!ends) return bytes.size() >= kMostOfAnHttpRequest ? Error(431) : HttpAnswer{};
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Error(400);
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!line.substr(last + 1).starts_with("HTTP/1.")) return Error(400);
  target = target.substr(0, target.find('?'));
  if (target != kPath) return Error(404);
  if (method == "GET") return {.code = 200, .body = HttpAnswer::Body::kMetrics};
  if (method == "HEAD") return {.code = 200, .body = HttpAnswer::Body::kNone};
  return Error(405);
}

std::string HttpHead(int code, size_t length) {
  const bool metrics = code == 200;
  return absl::StrCat("HTTP/1.1 ", code, metrics ? " OK" : " Refused",
                      "\r\nContent-Type: text/plain; ", metrics ? "version=0.0.4; " : "",
                      "charset=utf-8\r\nContent-Length: ", length,
                      code == 405 ? "\r\nAllow: GET, HEAD" : "", "\r\nConnection: close\r\n\r\n");
}

std::string_view HttpWords(int code) {
  switch (code) {
    case 400:
      return "this is no request of HTTP/1\n";
    case 404:
      return "there is nothing but /metrics\n";
    case 405:
      return "it can be read alone, by GET\n";
    case 431:
      return "a request has at most 4096 bytes\n";
  }
  return "";
}

}  // namespace vramspan::broker
