// As much of HTTP/1 as a scrape needs.
//
// Pure: bytes in, values out.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_HTTP_REQUEST_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_HTTP_REQUEST_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace vramspan::broker {

// With its headers. Whoever sends more is told so.
inline constexpr size_t kMostOfAnHttpRequest = 4096;

struct HttpAnswer {
  enum class Body { kMetrics, kNone, kWords };
  int code = 0;  // 0: there is more to come.
  Body body = Body::kWords;
};

// What the bytes that have come so far ask for.
HttpAnswer ReadHttpRequest(std::string_view bytes);

// What goes before a body of that length. Words are a body of their own: the code's.
std::string HttpHead(int code, size_t length);
std::string_view HttpWords(int code);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_HTTP_REQUEST_H_
