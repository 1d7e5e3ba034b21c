// Who is asked before a context takes device memory, and what it is told after.
#ifndef VRAMSPAN_RUNTIME_MOVER_CONTEXT_ROOM_H_
#define VRAMSPAN_RUNTIME_MOVER_CONTEXT_ROOM_H_

#include <optional>

#include "runtime/base/units.h"

namespace vramspan {

// Called on the mover's thread, without a lock.
class ContextRoom {
 public:
  virtual ~ContextRoom() = default;
  // What was given.
  virtual Bytes Before() = 0;
  // `took`: nothing where that is not known, and then all that was given stays.
  virtual void After(std::optional<Bytes> took) = 0;
};

// What a context took, from what was free before it and after. Nothing where others gave memory
// back meanwhile, or nothing was seen: no context takes nothing. Pure.
inline std::optional<Bytes> TakenByContext(std::optional<Bytes> before,
                                           std::optional<Bytes> after) {
  if (!before.has_value() || !after.has_value() || *after >= *before) return std::nullopt;
  return *before - *after;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_CONTEXT_ROOM_H_
