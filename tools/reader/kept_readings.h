// What was read of kernels' code, kept in the user's cache for later runs:
// ${XDG_CACHE_HOME:-~/.cache}/vramspan/read/KEY.read, a file for each image and GPU.
//
// A file is a first line, and lines as trust files have them (readings.h). The first one names what
// it is of: the image, the GPU, and the rules by which code was read. Other rules say nothing.
//
// Threads: any.
#ifndef VRAMSPAN_TOOLS_READER_KEPT_READINGS_H_
#define VRAMSPAN_TOOLS_READER_KEPT_READINGS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/keyed_files.h"
#include "runtime/base/mutex.h"
#include "runtime/base/parameter_ranges.h"
#include "runtime/base/status.h"
#include "tools/prove/disassembler.h"
#include "tools/reader/asks.h"

namespace vramspan::reader {

inline constexpr KeyedFiles::Kind kReadFiles = {
    .folder = "read", .ending = ".read", .most_files = 4096, .most_text = size_t{1} << 20};

// Whether the code of a kernel takes no address from memory.
struct ReadKernel {
  bool proven = false;
  ParameterCases when = {};  // For which launches; none: for all.

  bool operator==(const ReadKernel&) const = default;
};
using ReadKernels = std::map<std::string, ReadKernel>;  // By name.

// A hash of this very program. 0: it cannot be read.
uint64_t OwnRules();
// What the rules are: that, and the file nvdisasm, by its path, size and time. 0: one is not there,
// and nothing is kept, nor what was kept used.
uint64_t RulesOf(const StatusOr<prove::Disassembler>& nvdisasm);

std::string KeptText(const AskedCode& code, uint64_t rules, const ReadKernels& kernels);
// Nothing where it is not whole, or of anything else.
std::optional<ReadKernels> ParseKept(std::string_view text, const AskedCode& code, uint64_t rules);

class KeptReadings {
 public:
  // Without files it keeps for the length of the process alone.
  KeptReadings(std::optional<KeyedFiles> files, uint64_t rules)
      : files_(std::move(files)), rules_(rules) {}

  std::optional<ReadKernel> Of(const AskedCode& code, const std::string& name) VS_EXCLUDES(mu_);
  void Add(const AskedCode& code, const ReadKernels& kernels) VS_EXCLUDES(mu_);
  // Nothing is written from here on, and nothing is left half written.
  void Stop() VS_EXCLUDES(mu_);

  uint64_t KeyOf(const AskedCode& code) const;

 private:
  ReadKernels& Known(const AskedCode& code) VS_REQUIRES(mu_);
  // What lies there now; nothing where that is no use.
  ReadKernels OfFile(const AskedCode& code) const;

  const std::optional<KeyedFiles> files_;
  const uint64_t rules_;
  Mutex mu_;
  std::map<AskedCode, ReadKernels> known_ VS_GUARDED_BY(mu_);
  bool stopped_ VS_GUARDED_BY(mu_) = false;
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_KEPT_READINGS_H_
