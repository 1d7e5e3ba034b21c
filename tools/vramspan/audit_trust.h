// What an audit says of how far each code may be trusted, as a trust file (docs/trust.md). Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_TRUST_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_TRUST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/vramspan/audit_report.h"

namespace vramspan::audit {

struct TrustFile {
  std::string text;
  size_t codes = 0;
  uint64_t graph_launches = 0;    // Which say nothing of the kernels in them.
  uint64_t unnamed_launches = 0;  // Of codes that no line can name.
};

// In one launch, disturbances left out. Where these cannot be told, they count.
uint64_t MostSectors(const AuditRow& row);
// Kinds of launches, given the same but for pointers, that are proven where the code is not.
size_t ProvenKinds(const AuditRow& row);
// The level that a code gets from its row, or why it gets none; "-" of what is not one code.
std::string_view LevelText(const AuditRow& row);

// `of` says what was audited, and when. Codes of which nothing was seen have no line.
// FailedPrecondition: then no code is left, or more than a trust file may hold.
StatusOr<TrustFile> MakeTrustFile(const Report& report, std::string_view of);

}  // namespace vramspan::audit

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_TRUST_H_
