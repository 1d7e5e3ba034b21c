// The file in which a runtime's scheduler has its events recorded (VRAMSPAN_RECORD_EVENTS), from
// the runtime's beginning to its end, or that of the process.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_EVENT_RECORDING_H_
#define VRAMSPAN_RUNTIME_API_EVENT_RECORDING_H_

#include <memory>
#include <string>

#include "runtime/api/record_file.h"
#include "runtime/base/status.h"
#include "runtime/trace/scheduler_log.h"

namespace vramspan {

class EventRecording final : EndsWithProcess {
 public:
  static StatusOr<std::unique_ptr<EventRecording>> Open(const std::string& path);
  ~EventRecording();

  EventSink* sink() { return log_.get(); }

 private:
  EventRecording() = default;
  void Finish() override;

  std::unique_ptr<trace::SchedulerLog> log_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_EVENT_RECORDING_H_
