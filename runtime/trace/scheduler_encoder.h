// Tells of a scheduler's events into bytes: a sink for whoever drives it. Also of what others
// changed in its chunks, before the event that may look at them (ChunkTable::told), and of each
// work before the first event that names it.
//
// Builds with VRAMSPAN_DCHECK look whether somebody changed a chunk, or work, and did not say so.
//
// Threads: not safe. Memory: the bytes that were not taken.
#ifndef VRAMSPAN_RUNTIME_TRACE_SCHEDULER_ENCODER_H_
#define VRAMSPAN_RUNTIME_TRACE_SCHEDULER_ENCODER_H_

#include <cstdint>
#include <vector>

#include "runtime/scheduler/event_sink.h"
#include "runtime/trace/encoder.h"
#include "runtime/trace/scheduler_records.h"

namespace vramspan::trace {

class SchedulerEncoder final : public EventSink {
 public:
  void Made(ChunkTable* chunks, const SchedulerOptions& options, std::string_view policy) override;
  void Begin(const SchedulerEvent& event) override;
  void AskedWhatRuns() override;
  void Runs(const Work& work) override;
  void Dropped(ChunkIndex chunk) override;
  void End(const SchedulerEvent& event, const EventAnswer& answer) override;
  // The last record.
  void Finish();

  size_t size() const { return bytes_.size(); }
  uint64_t events() const { return events_; }
  // Whole records, since the last call. And of how many events they tell.
  BlockBytes Take(uint32_t* events);

 private:
  void PutChunks();
  void PutChunk(ChunkIndex chunk, bool removed);
  void PutWork(const Work& work);
  void PutMoment(const Moment& at, class RecordWriter* out);
  void CheckNothingUntold();

  ChunkTable* chunks_ = nullptr;
  BlockBytes bytes_;
  uint64_t events_ = 0, taken_ = 0;
  SchedulerRecordState last_;
  std::vector<ChunkIndex> removed_;
  std::vector<ChunkFacts> seen_;  // With VRAMSPAN_DCHECK: behind the last event.
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_SCHEDULER_ENCODER_H_
