// How `vramspan audit` is run on a program that nobody changed (audited.cc).
#ifndef VRAMSPAN_TESTS_AUDIT_UNCHANGED_H_
#define VRAMSPAN_TESTS_AUDIT_UNCHANGED_H_

namespace vramspan {

inline constexpr char kEnvironment[] =
    "-u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER SIMCUDA_DEVICE_MEMORY=256MiB "
    "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "
    "VRAMSPAN_CUPTI_TRACER='" VRAMSPAN_TRACER_LIBRARY "' ";
inline constexpr char kUnchanged[] = " -- '" VRAMSPAN_AUDITED_UNCHANGED "' ";

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_AUDIT_UNCHANGED_H_
