// A file of a scheduler's events, written while the program runs (block_file.h). Unlike a trace it
// has no holes: where the disk does not keep up, the recording ends, with a line.
//
// Threads: the scheduler's owner calls, under its lock; the file's thread takes what there is.
#ifndef VRAMSPAN_RUNTIME_TRACE_SCHEDULER_LOG_H_
#define VRAMSPAN_RUNTIME_TRACE_SCHEDULER_LOG_H_

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/scheduler/event_sink.h"
#include "runtime/trace/block_file.h"
#include "runtime/trace/scheduler_encoder.h"

namespace vramspan::trace {

// The file's first frame. `program`: whose events they are, for who reads the file.
std::string PackEventsHeader(std::string_view program);
// FailedPrecondition: these are no events, or of a newer version; the sentence says which.
StatusOr<std::string> UnpackEventsHeader(std::string_view bytes, size_t* taken);

class SchedulerLog final : public EventSink {
 public:
  static StatusOr<std::unique_ptr<SchedulerLog>> Open(const BlockFileOptions& options,
                                                      std::string_view program);
  // Closes; what goes wrong then is logged.
  ~SchedulerLog() { static_cast<void>(End()); }
  // The end of the file: nothing that comes later is written.
  Status Close();

  void Made(ChunkTable* chunks, const SchedulerOptions& options, std::string_view policy) override;
  void Begin(const SchedulerEvent& event) override;
  void AskedWhatRuns() override;
  void Runs(const Work& work) override;
  void Dropped(ChunkIndex chunk) override;
  void End(const SchedulerEvent& event, const EventAnswer& answer) override;

  const std::string& path() const { return file_->path(); }

 private:
  SchedulerLog() = default;
  template <typename Put>
  void Tell(Put put);
  // False: it was before.
  bool End();
  void Hand(BlockFile* to, bool must) VS_REQUIRES(mu_);

  Mutex mu_;
  SchedulerEncoder encoder_ VS_GUARDED_BY(mu_);
  bool ended_ VS_GUARDED_BY(mu_) = false;
  std::unique_ptr<BlockFile> file_;  // Its thread looks at what is above.
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_SCHEDULER_LOG_H_
