// Where vramspan was to work and cannot: the program runs as without it, and is not silent about
// that. One line says why, with VRAMSPAN_QUIET too, and so do the statistics at the end.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_ASIDE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_ASIDE_H_

#include <string_view>

namespace vramspan::preload {

// `where`: "on device 0", "in this process". Each is said as often as it is called. Threads: any.
void StandAside(std::string_view where, std::string_view why);

// The same for who asked for it: only the statistics say so.
void StandAsideAsAsked(std::string_view where, std::string_view why);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_ASIDE_H_
