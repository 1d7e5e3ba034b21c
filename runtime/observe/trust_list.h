// What files say of how far kernels are trusted (docs/trust.md): by patterns of their names, by
// audits of their very code, and by readings of it.
//
// Pure; texts are parsed as from a stranger. Threads: any, once nothing is added any more.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_TRUST_LIST_H_
#define VRAMSPAN_RUNTIME_OBSERVE_TRUST_LIST_H_

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/trust.h"
#include "runtime/observe/readings.h"

namespace vramspan {

// What an audit has seen of the launches of one kernel.
struct AuditedKernel {
  uint64_t launches = 0;
  uint64_t argument_sets = 0;  // That differ in what they name.
  uint64_t most_sectors = 0;   // Of host memory in one launch, whatever was not inferred.
  uint64_t module = 0;         // A hash of the image that holds it; 0: not known.
  bool arrays = false;         // Other arrays of allocations that it named would have shown, too.
  uint64_t given = 0;          // Submission::given of these launches; 0: of any.
};

struct TrustVerdict {
  // Launches that are given this (Submission::given).
  struct Given {
    uint64_t given;
    Trust trust;
  };
  // Launches whose parameters are so.
  struct When {
    ParameterCases ranges;
    std::string source;
  };

  Trust trust = Trust::kUntried;
  std::string why;
  std::vector<Given> given = {};  // That are trusted further.
  std::vector<When> when = {};    // That are proven, by a reading: those of any of these.
  bool only_when = false;         // No line says anything of other launches.
  bool missed = false;            // This very code was seen to miss,
  bool namesake_missed = false;   // or other code of its name, which is all that is against it.
  bool user_missed = false;       // It missed by the user's files (OfUserThenBuiltIn).
  bool read = false;              // It is proven by a reading.
  bool excepted = false;          // A `not` line names it. Of the user's files alone.

  Trust Of(uint64_t launch) const {
    Trust most = trust;
    for (const Given& g : given) {
      if (g.given == launch) most = std::max(most, g.trust);
    }
    return most;
  }
};

class TrustList {
 public:
  // Of a file, its lines, and a name or pattern.
  static constexpr size_t kMostText = size_t{16} << 20;
  static constexpr size_t kMostLines = size_t{1} << 17;
  static constexpr size_t kMostName = 4096;
  // Code is proven by so many launches, of so many sets of arguments, each of which took fewer
  // sectors from host memory than this. A launch takes up to 25 of its own (docs/audit.md). With
  // fewer sets it is proven for launches that are given the same but for pointers.
  static constexpr uint64_t kProvenLaunches = 8;
  static constexpr uint64_t kProvenSets = 3;
  static constexpr uint64_t kNoise = 64;

  // Adds what a file says, or several files one after the other; `source` is how it is called.
  // InvalidArgument names the file, the line and what is wrong there; then nothing is added.
  Status Add(std::string_view source, std::string_view text);

  // Nothing where no line concerns it. `module`: of the image that holds it; 0: not known.
  std::optional<TrustVerdict> Of(std::string_view name, uint64_t module) const;

  size_t size() const { return patterns_.size() + audited_.size() + readings_.size(); }
  // Whether any line says of code that it stays in arrays.
  bool arrays() const { return arrays_; }
  // Codes that are proven, whatever they are given.
  uint64_t proven() const;

 private:
  struct Pattern {
    std::string glob;
    uint32_t source;
    bool trusts;  // False: what matches is not trusted, whatever else matches it.
  };
  struct Audited {
    AuditedKernel kernel;
    uint32_t source;
  };
  struct File;  // While it is parsed.
  // What the lines of one name say of the code in one module. Null: no line does.
  struct Evidence {
    const Audited* proof = nullptr;   // Of all its launches.
    const Audited* clean = nullptr;   // Of some code of the name,
    const Audited* missed = nullptr;  // that was seen to miss,
    bool missed_here = false;         // and this is it.
    std::optional<uint32_t> read;     // The source that says that it was read.
    std::vector<ReadWhen> when;       // Or those that say so of some launches.
    bool in_arrays = false;
    bool beyond_arrays = false;  // Code of the name.
    std::vector<TrustVerdict::Given> given;
  };

  Evidence EvidenceOf(std::string_view name, uint64_t module) const;
  std::optional<TrustVerdict> Judge(std::string_view name, const Evidence& e) const;
  static bool Proves(const AuditedKernel& kernel);
  static Status ParseAudited(std::string_view line, bool given, File* file, Audited audited);
  static Status ParseReading(std::string_view kind, std::string_view line, File* file);
  static Status ParseLine(std::string_view line, File* file);

  std::vector<std::string> sources_;
  std::vector<Pattern> patterns_;
  absl::flat_hash_map<std::string, std::vector<Audited>> audited_;  // By name.
  Readings readings_;
  bool arrays_ = false;
};

// What two lists say together, of which the first counts before the second. But of code of which
// the first has seen too little the second may know more.
TrustVerdict FirstThenSecond(std::optional<TrustVerdict> first, std::optional<TrustVerdict> second);

// The same of what the user's files say, and what is built in. Whichever says how far the code is
// trusted: that either has seen it miss stays known, and what the user excepts.
//
// Conditions of a reading hold though what is built in saw the code miss: that was made of launches
// by table, which are others. What the user's files saw counts, and what they except.
TrustVerdict OfUserThenBuiltIn(const std::optional<TrustVerdict>& user,
                               const std::optional<TrustVerdict>& built_in);

// The line of a trust file that says this.
std::string TrustLine(std::string_view name, const AuditedKernel& kernel);
// What the project ships (runtime/observe/trust), parsed when it is first asked for.
const TrustList& BuiltInTrust();
std::string_view BuiltInTrustText();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_TRUST_LIST_H_
