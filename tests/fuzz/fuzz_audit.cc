// What an audited process says it counted. What is read is written as it was, and what is wrong is
// told in one short line.
#include <string>
#include <string_view>

#include "runtime/api/audit_results.h"
#include "runtime/base/log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLongestMessage = 500;
  const auto read = vramspan::ParseAudit({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) {
    const std::string_view message = read.status().message();
    VS_CHECK(!message.empty() && message.size() < kLongestMessage);
    VS_CHECK(message.find('\n') == std::string_view::npos);
    return 0;
  }
  for (const vramspan::AuditRow& row : read->rows) VS_CHECK(!row.name.empty());
  const std::string text = vramspan::AuditText(*read);
  const auto again = vramspan::ParseAudit(text);
  VS_CHECK(again.ok() && again->rows.size() == read->rows.size());
  VS_CHECK(vramspan::AuditText(*again) == text);
  return 0;
}
