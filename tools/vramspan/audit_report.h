// What `vramspan audit` shows, as data, and as text.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_REPORT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/api/audit_results.h"

namespace vramspan::audit {

struct Report {
  std::vector<std::string> program;  // With its arguments.
  int exit_code = 0;                 // Of the program.
  size_t runtimes = 0;
  size_t incomplete = 0;            // Of them: did not come to their end.
  std::vector<std::string> errors;  // Each once.
  std::string driver;               // Of the first runtime that is read.
  // By code, the worst first.
  std::vector<AuditRow> rows;
  AuditRow total;
};

// Reads and merges the results in the folder. What several runtimes have told of one code counts
// together, but for the sets of arguments: those of one may be those of another.
StatusOr<Report> ReadReport(const std::string& folder);

// `top`: so many kernels at most, 0 for all. The total is of all.
std::string ToTable(const Report& report, size_t top);
std::string ToJson(const Report& report, size_t top);

// A kernel's name for people: demangled, without namespaces, parameters and template arguments, and
// not longer than `most`.
std::string ShortName(const std::string& name, size_t most);

}  // namespace vramspan::audit

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_AUDIT_REPORT_H_
