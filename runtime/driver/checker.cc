#include "runtime/driver/checker.h"

#include <link.h>

#include <cstring>

namespace vramspan {
namespace {

// What each has in the process that it watches. The driver loads a debugger's in cuInit.
constexpr char kDebuggerLibrary[] = "/libcudadebugger.so";
constexpr char kSanitizerLibrary[] = "/libsanitizer-collection.so";

}  // namespace

Checker CheckerBeside() {
  Checker found = Checker::kNone;
  const auto visit = [](dl_phdr_info* info, size_t, void* to) {
    if (info->dlpi_name == nullptr) return 0;
    auto* const checker = static_cast<Checker*>(to);
    if (std::strstr(info->dlpi_name, kSanitizerLibrary) != nullptr) *checker = Checker::kSanitizer;
    if (std::strstr(info->dlpi_name, kDebuggerLibrary) != nullptr) *checker = Checker::kDebugger;
    return *checker != Checker::kNone ? 1 : 0;
  };
  dl_iterate_phdr(visit, &found);
  return found;
}

const char* CheckerName(Checker checker) {
  switch (checker) {
    case Checker::kNone:
      return "";
    case Checker::kDebugger:
      return "cuda-gdb";
    case Checker::kSanitizer:
      return "compute-sanitizer";
  }
  return "";
}

}  // namespace vramspan
