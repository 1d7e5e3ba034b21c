#include "runtime/api/work_timer.h"

#include <thread>
#include <utility>

#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

// More work under way than this goes unmeasured: a stream that waits for the host may hold as much.
constexpr size_t kMostEvents = 1 << 14;
constexpr std::chrono::milliseconds kPeriod{10};
// What the program has waited for has run, but the event behind it may not have been reached yet.
constexpr std::chrono::milliseconds kLastWait{50};
// An elapsed time is a float of milliseconds: after a second its last digit is a tenth of a
// microsecond.
constexpr double kNewBaseAfterMs = 1000;

WorkTimer::Clock::duration FromMs(double ms) {
  return std::chrono::duration_cast<WorkTimer::Clock::duration>(
      std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

StatusOr<std::unique_ptr<WorkTimer>> WorkTimer::Start(std::shared_ptr<const Driver> driver,
                                                      CUcontext context, Result result, Lost lost) {
  const ScopedContext current(*driver, context);
  VS_RETURN_IF_ERROR(current.status());
  std::unique_ptr<WorkTimer> t(new WorkTimer());
  t->driver_ = driver;
  t->context_ = context;
  t->result_ = std::move(result);
  t->lost_ = std::move(lost);
  const Driver& cu = *driver;
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  Status status = Check(cu->EventCreate(&t->base_, CU_EVENT_DEFAULT), "cuEventCreate");
  if (status.ok()) status = Check(cu->EventRecord(t->base_, stream), "cuEventRecord");
  if (status.ok()) status = Check(cu->EventSynchronize(t->base_), "cuEventSynchronize");
  t->base_time_ = Clock::now();
  cu.RecordBackgroundError(Check(cu->StreamDestroy(stream), "cuStreamDestroy"));
  VS_RETURN_IF_ERROR(status);
  VS_ASSIGN_OR_RETURN(t->thread_, StartThread(
                                      "vramspan-timer", [raw = t.get()] { raw->Loop(); },
                                      [raw = t.get()] { raw->Failed(); }));
  return t;
}

void WorkTimer::Stop() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_.Join();
}

WorkTimer::~WorkTimer() {
  const OwnCalls own;
  Stop();
  // Events go with their context where that is gone.
  const ScopedContext current(*driver_, context_);
  if (!current.status().ok()) return;
  MutexLock lock(mu_);
  const auto destroy = [&](CUevent event) {
    if (event != nullptr) {
      driver_->RecordBackgroundError(
          Check((*driver_)->EventDestroy(event), "cuEventDestroy", "of a recording"));
    }
  };
  for (const CUevent event : spare_) destroy(event);
  const auto destroy_both = [&](const Measured& m) {
    destroy(m.start);
    destroy(m.end);
  };
  for (const Measured& m : queued_) destroy_both(m);
  for (const auto& [stream, all] : under_way_) {
    for (const Measured& m : all) destroy_both(m);
  }
  destroy(base_);
}

CUevent WorkTimer::TakeEvent() {
  {
    MutexLock lock(mu_);
    if (!spare_.empty()) {
      const CUevent event = spare_.back();
      spare_.pop_back();
      return event;
    }
    if (events_ == kMostEvents || stop_) return nullptr;
    ++events_;
  }
  CUevent event = nullptr;
  if ((*driver_)->EventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return nullptr;
  return event;
}

void WorkTimer::GiveBack(CUevent event) {
  MutexLock lock(mu_);
  spare_.push_back(event);
}

CUevent WorkTimer::Before(CUstream stream) {
  const CUevent event = TakeEvent();
  if (event == nullptr || (*driver_)->EventRecord(event, stream) == CUDA_SUCCESS) return event;
  GiveBack(event);
  return nullptr;
}

bool WorkTimer::Behind(CUevent before, CUstream stream, uint64_t id) {
  const CUevent event = TakeEvent();
  if (event == nullptr || (*driver_)->EventRecord(event, stream) != CUDA_SUCCESS) {
    if (event != nullptr) GiveBack(event);
    GiveBack(before);
    return false;
  }
  MutexLock lock(mu_);
  queued_.push_back({id, stream, before, event});
  return true;
}

void WorkTimer::Loop() {
  const OwnCalls own;
  // Relaxed: what is asked here must not ruin a capture of the program's.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  static_cast<void>((*driver_)->ThreadExchangeStreamCaptureMode(&mode));
  static_cast<void>((*driver_)->CtxSetCurrent(context_));
  for (bool last = false; !last;) {
    {
      MutexLock lock(mu_);
      if (!stop_) wake_.WaitFor(mu_, kPeriod);
      last = stop_;
    }
    Look();
  }
  const auto until = Clock::now() + kLastWait;
  while (!under_way_.empty() && Clock::now() < until) {
    std::this_thread::yield();
    Look();
  }
}

void WorkTimer::Failed() {
  MutexLock lock(mu_);
  stop_ = true;
}

void WorkTimer::Look() {
  std::vector<Measured> queued;
  {
    MutexLock lock(mu_);
    queued.swap(queued_);
  }
  for (const Measured& m : queued) under_way_[m.stream].push_back(m);
  for (auto it = under_way_.begin(); it != under_way_.end();) {
    std::deque<Measured>& all = it->second;
    while (!all.empty()) {
      const Measured m = all.front();
      const CUresult result = (*driver_)->EventQuery(m.end);
      if (result == CUDA_ERROR_NOT_READY) break;
      all.pop_front();
      if (result == CUDA_SUCCESS) {
        Tell(m);
      } else {
        GiveBack(m.start);
        GiveBack(m.end);
        lost_(m.id);
      }
    }
    const auto done = it++;
    if (done->second.empty()) under_way_.erase(done);
  }
}

void WorkTimer::Tell(const Measured& m) {
  float before = 0, took = 0;
  const bool known = (*driver_)->EventElapsedTime(&before, base_, m.start) == CUDA_SUCCESS &&
                     (*driver_)->EventElapsedTime(&took, m.start, m.end) == CUDA_SUCCESS;
  GiveBack(m.start);
  if (!known) {
    GiveBack(m.end);
    lost_(m.id);
    return;
  }
  const auto start = base_time_ + FromMs(before);
  result_(m.id, start, FromMs(took));
  if (before < kNewBaseAfterMs) {
    GiveBack(m.end);
    return;
  }
  base_time_ = start + FromMs(took);
  GiveBack(std::exchange(base_, m.end));
}

}  // namespace vramspan
