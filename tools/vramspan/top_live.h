// `vramspan top` on a terminal, until its user ends it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_LIVE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_LIVE_H_

#include <chrono>
#include <functional>

#include "runtime/base/status.h"
#include "tools/vramspan/top_view.h"

namespace vramspan::top {

// Has `look` show the view what there is, each time that `each` has passed. An error: there is no
// terminal. A signal that ends programs ends this one, when the terminal is as it was.
Status ShowLive(const std::function<void(View*)>& look, std::chrono::nanoseconds each);

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_LIVE_H_
