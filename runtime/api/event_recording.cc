#include "runtime/api/event_recording.h"

#include "runtime/base/log.h"

namespace vramspan {

StatusOr<std::unique_ptr<EventRecording>> EventRecording::Open(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::string program, RecordedCommandLine());
  std::unique_ptr<EventRecording> recording(new EventRecording());
  VS_ASSIGN_OR_RETURN(recording->log_, OpenOrBeside(path, [&](const std::string& file) {
                        return trace::SchedulerLog::Open({.path = file}, program);
                      }));
  recording->Lives();
  return recording;
}

EventRecording::~EventRecording() {
  LivesNoMore();
  if (log_ != nullptr) Finish();
}

void EventRecording::Finish() {
  const Status closed = log_->Close();
  if (!closed.ok()) Log(LogLevel::kError, std::string(closed.message()));
}

}  // namespace vramspan
