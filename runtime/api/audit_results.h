// What an audited process tells, one file for each of its runtimes: lines of text, the first
// "vramspan-audit 5". `vramspan audit` reads them (docs/audit.md).
//
//   complete       the runtime came to its end
//   error TEXT     nothing was counted, or no more from some point on
//   driver TEXT
//   kernel N ... NAME  where it was launched, the fields of AuditRow in order, 16 of them, the name
//   to the line's end given HASH N       of the launches of the row before, so many were given the
//   same arrays N ... NAME  the same of a kernel's launches that could show that it stays in arrays
//   graph N ... NAME   the same of a graph
//   others N ... NAME  the same of kernels that share a row
#ifndef VRAMSPAN_RUNTIME_API_AUDIT_RESULTS_H_
#define VRAMSPAN_RUNTIME_API_AUDIT_RESULTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/argument_sets.h"
#include "runtime/base/status.h"

namespace vramspan {

// Sums over the launches of one kernel's code. Launches of which more was inferred than fits on the
// device are `over`, and what they took from host memory is no miss.
struct AuditRow {
  // A graph, and kernels that share a row, say nothing of any one kernel.
  // kArrays: launches of a kernel that could show that it stays in arrays (Trust::kArrays).
  enum class Kind : uint8_t { kKernel, kArrays, kGraph, kOthers };
  // So many sets of arguments are told apart.
  static constexpr uint64_t kMostSets = 64;

  Kind kind = Kind::kKernel;
  std::string name;  // As the driver has it: mangled, most often.
  uint64_t launches = 0;
  uint64_t counted = 0;   // Of them, `over` included.
  uint64_t inferred = 0;  // Bytes.
  uint64_t touched = 0;   // Bytes that the second-level cache was asked for, of either memory.
  uint64_t read = 0;      // Of these, of host memory.
  uint64_t written = 0;
  uint64_t over = 0;
  uint64_t over_host = 0;  // Bytes of host memory in those.
  uint64_t remaining = 0;  // Most bytes not inferred that could not be put into host memory.
  // Launches that were counted, not `over`, with all movable memory that was not inferred in host
  // memory, and some there: touching it would have shown, and no more than noise did.
  uint64_t evidence = 0;
  uint64_t sets = 0;                 // Of arguments that differ, among these; kMostSets at most.
  HostSectors sectors;               // Of launches that were not `over`.
  uint64_t module = 0;               // A hash of the image that holds the code; 0: not known.
  std::vector<GivenLaunches> given;  // ArgumentSets::given.
};

struct AuditResults {
  bool complete = false;
  std::string error;
  std::string driver;
  std::vector<AuditRow> rows;
};

std::string AuditText(const AuditResults& results);
// InvalidArgument says which line is not understood.
StatusOr<AuditResults> ParseAudit(std::string_view text);
// All of the file or the one before: a reader never sees a half.
Status WriteAudit(const std::string& path, const AuditResults& results);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_AUDIT_RESULTS_H_
