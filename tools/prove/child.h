// Another program, asked for what it prints.
#ifndef VRAMSPAN_TOOLS_PROVE_CHILD_H_
#define VRAMSPAN_TOOLS_PROVE_CHILD_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::prove {

// Where a program finds what it is given.
inline constexpr char kInput[] = "/proc/self/fd/3";
// No program that does its work comes near to this.
inline constexpr std::chrono::hours kMostWorkOfChild{12};

// What the program prints, once it has ended well. `input` is a file that it finds at kInput. Files
// have no names, so that nothing is left of them. NotFound: there is no such program.
// FailedPrecondition: it failed, with the first line that it said; or there is no room. It gets no
// more of a processor than `most_work`.
StatusOr<MappedFile> OutputOf(const std::vector<std::string>& program, std::string_view input,
                              std::chrono::seconds most_work = kMostWorkOfChild);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CHILD_H_
