#include "tools/simcuda/event.h"

#include <utility>

#include "tools/simcuda/context.h"
#include "tools/simcuda/op.h"

namespace simcuda {
namespace {

constexpr std::chrono::milliseconds kAbandonPoll{50};

class EventRecordOp : public Op {
 public:
  explicit EventRecordOp(std::shared_ptr<EventRecord> record)
      : Op(OpKind::kEventRecord), record_(std::move(record)) {}
  CUresult Run(const Exec& /*exec*/) const override {
    record_->time = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  }
  void Skip(CUresult /*error*/) const override { record_->time = std::chrono::steady_clock::now(); }

 private:
  const std::shared_ptr<EventRecord> record_;
};

class EventWaitOp : public Op {
 public:
  explicit EventWaitOp(Ticket ticket) : Op(OpKind::kEventWait), ticket_(std::move(ticket)) {}
  CUresult Run(const Exec& exec) const override {
    while (!ticket_.Done() && !exec.Abandoned()) {
      ticket_.progress->WaitFor(ticket_.step, kAbandonPoll);
    }
    return CUDA_SUCCESS;
  }

 private:
  const Ticket ticket_;
};

}  // namespace

std::shared_ptr<EventRecord> Event::record() const {
  MutexLock lock(mutex_);
  return record_;
}

void Event::set_record(std::shared_ptr<EventRecord> record) {
  MutexLock lock(mutex_);
  record_ = std::move(record);
  capture_mark_.reset();
}

std::shared_ptr<capture::EventMark> Event::capture_mark() const {
  MutexLock lock(mutex_);
  return capture_mark_;
}

void Event::set_capture_mark(std::shared_ptr<capture::EventMark> mark) {
  MutexLock lock(mutex_);
  capture_mark_ = std::move(mark);
}

CUresult Event::SubmitRecord(Stream& stream) {
  auto record = std::make_shared<EventRecord>();
  record->context = stream.context();
  const CUresult result =
      stream.SubmitUncaptured(std::make_shared<EventRecordOp>(record), &record->ticket);
  if (result == CUDA_SUCCESS) set_record(std::move(record));
  return result;
}

CUresult Event::SubmitWait(Stream& stream) {
  const std::shared_ptr<EventRecord> latest = record();
  if (!latest || latest->ticket.Done()) return stream.context()->error();
  return stream.SubmitUncaptured(std::make_shared<EventWaitOp>(latest->ticket), nullptr);
}

}  // namespace simcuda
