// The variables by which vramspan is told what to do, all of them, and those that are none. A name
// that is misspelt is read by nobody, so whoever wrote it is told.
//
// A variable that the sources read and that is not listed here fails tests/base/variables_test.cc.
#ifndef VRAMSPAN_RUNTIME_BASE_VARIABLES_H_
#define VRAMSPAN_RUNTIME_BASE_VARIABLES_H_

#include <absl/types/span.h>

#include <string>
#include <string_view>

namespace vramspan {

inline constexpr std::string_view kVariablePrefix = "VRAMSPAN_";
// Whoever started the program has told of its unknown variables; set by `vramspan run`.
inline constexpr char kToldVariable[] = "VRAMSPAN_TOLD";

// What users and vramspan itself set; and what this project's tests and benchmarks read.
absl::Span<const std::string_view> Variables();
absl::Span<const std::string_view> VariablesOfTests();

// "VRAMSPAN_OVERLAPP is no variable of vramspan; did you mean 'VRAMSPAN_OVERLAP'?": what in this
// environment begins as ours do and is none of them. Empty: there is nothing.
std::string UnknownVariables(const char* const* environment);
// The same of this process, as a warning. The first call of a process tells, and no other.
void TellUnknownVariables();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_VARIABLES_H_
