// The bytes of a scheduler's events into records. The bytes may be anybody's: nothing in them is
// believed before it is checked, and what a record takes is bounded by the bytes there are. Whether
// it makes sense beside the records before is for who repeats them.
#ifndef VRAMSPAN_RUNTIME_TRACE_SCHEDULER_DECODER_H_
#define VRAMSPAN_RUNTIME_TRACE_SCHEDULER_DECODER_H_

#include <absl/types/span.h>

#include "runtime/base/status.h"
#include "runtime/trace/scheduler_records.h"

namespace vramspan::trace {

class SchedulerDecoder {
 public:
  // The next bytes, of whole records; they outlive their reading.
  void Feed(absl::Span<const uint8_t> bytes) {
    bytes_ = bytes;
    at_ = 0;
  }
  // The next record; false where the bytes end. DataLoss says what is wrong and at which byte of
  // what was fed; nothing can be read behind it.
  StatusOr<bool> Next(SchedulerRecord* record);

 private:
  class Fields;

  Status Bad(size_t at, const char* what) const;
  bool TakeEvent(SchedulerEvent::Kind kind, Fields* in, EventRecord* record);
  bool TakeWork(Fields* in, WorkRecord* record);
  bool TakeMade(Fields* in, MadeRecord* record);
  bool TakeAnswer(Fields* in, AnswerRecord* record);
  bool Take(uint8_t type, Fields* in, SchedulerRecord* record);

  absl::Span<const uint8_t> bytes_;
  size_t at_ = 0;
  SchedulerEvent::Kind kind_ = SchedulerEvent::Kind::kNext;  // Of the last event.
  SchedulerRecordState last_;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_SCHEDULER_DECODER_H_
