// Another program, asked for what it prints.
#ifndef VRAMSPAN_TOOLS_PROVE_CHILD_H_
#define VRAMSPAN_TOOLS_PROVE_CHILD_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::prove {

// Where a program finds what it is given.
inline constexpr char kInput[] = "/proc/self/fd/3";

// What a program may take before it is ended, which is a failure.
struct ChildLimits {
  // No program that does its work comes near to these.
  std::chrono::seconds work = std::chrono::hours{12};  // Of a processor.
  std::chrono::milliseconds time{0};                   // By the clock. 0: any.
  uint64_t output = uint64_t{16} << 30;                // Bytes of a file.
  uint64_t memory = 0;                                 // Bytes of addresses. 0: any.
  // Its files lie in memory, and not in the folder for temporary files.
  bool in_memory = false;
};

// What the program prints, once it has ended well. `input` is a file that it finds at kInput. Files
// have no names, so that nothing is left of them. NotFound: there is no such program.
// FailedPrecondition: it failed, with the first line that it said. ResourceExhausted: there is no
// room for its files. Programs may not notice that, so as much as `limits` allow, or a full file
// system, is no room.
StatusOr<MappedFile> OutputOf(const std::vector<std::string>& program, std::string_view input,
                              const ChildLimits& limits = {});

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CHILD_H_
