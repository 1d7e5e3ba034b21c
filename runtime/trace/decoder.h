// The bytes of one block into events. The bytes may be anybody's: nothing in them is believed
// before it is checked, and what an event takes is bounded by the bytes there are.
#ifndef VRAMSPAN_RUNTIME_TRACE_DECODER_H_
#define VRAMSPAN_RUNTIME_TRACE_DECODER_H_

#include <absl/types/span.h>

#include "runtime/base/status.h"
#include "runtime/trace/encoder.h"
#include "runtime/trace/events.h"

namespace vramspan::trace {

class Decoder {
 public:
  // The bytes outlive the decoder.
  Decoder(absl::Span<const uint8_t> bytes, uint64_t first_time);

  // The next event into `event`, whose memory is used again (and WorkEvent::before is ours); false
  // at the end. DataLoss says what is wrong and at which byte of the block; nothing can be read
  // behind it. Events of types that this version does not know are passed over and counted.
  StatusOr<bool> Next(Event* event);
  uint64_t unknown() const { return unknown_; }

 private:
  Status Bad(const char* what) const;

  const absl::Span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint64_t unknown_ = 0;
  size_t ranges_ = 0;
  BlockState last_;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_DECODER_H_
