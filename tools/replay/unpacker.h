// Unpacks gzip and zstd piece by piece: what is packed as one member (or frame) after another.
#ifndef VRAMSPAN_TOOLS_REPLAY_UNPACKER_H_
#define VRAMSPAN_TOOLS_REPLAY_UNPACKER_H_

#include <absl/types/span.h>

#include <memory>
#include <string_view>

#include "runtime/base/status.h"
#include "tools/replay/packing.h"

namespace vramspan::replay {

class Unpacker {
 public:
  // REQUIRES: kGzip or kZstd. ResourceExhausted where there is no memory for it.
  static StatusOr<std::unique_ptr<Unpacker>> Make(Packing packing);
  virtual ~Unpacker() = default;

  // Takes from the front of `in` and fills `out` from its front: how many bytes it made. Stops at
  // the end of each member. That neither was taken nor made says that it needs more. DataLoss says
  // what is wrong; what came before may be wrong as well, then.
  virtual StatusOr<size_t> Run(std::string_view* in, absl::Span<char> out) = 0;
  // Whether what was taken ends with a member, which may be the last.
  bool between() const { return between_; }

 protected:
  bool between_ = true;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_UNPACKER_H_
