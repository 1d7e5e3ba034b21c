#include "runtime/mover/copy_engine.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/thread.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

// Time during which at least one copy was under way.
class BusyTime {
 public:
  void Begin() {
    if (running_++ == 0) since_ = Clock::now();
  }
  void End() {
    if (--running_ == 0) {
      total_.fetch_add(static_cast<uint64_t>((Clock::now() - since_).count()),
                       std::memory_order_relaxed);
    }
  }
  uint64_t nanoseconds() const { return total_.load(std::memory_order_relaxed); }

 private:
  int running_ = 0;
  Clock::time_point since_;
  std::atomic<uint64_t> total_{0};
};

class CopyEngineImpl final : public CopyEngine {
 public:
  CopyEngineImpl(std::shared_ptr<const Driver> driver, CUcontext context, bool owned)
      : driver_(std::move(driver)), context_(context), owned_(owned) {}

  Status Start() {
    ScopedContext current(*driver_, context_);
    VS_RETURN_IF_ERROR(current.status());
    for (CUstream* stream : {&in_stream_, &out_stream_}) {
      VS_RETURN_IF_ERROR(Check((*driver_)->StreamCreate(stream, CU_STREAM_NON_BLOCKING),
                               "cuStreamCreate", "for moves"));
    }
    // In a context that is shared with the program a kernel of ours could get stuck behind a parked
    // stream, as copies could, and nothing here must wait for it.
    if (owned_) {
      for (auto [stream, fingerprinter] :
           {std::pair(in_stream_, &in_fingerprints_), {out_stream_, &out_fingerprints_}}) {
        StatusOr<std::unique_ptr<Fingerprinter>> made = Fingerprinter::Create(driver_, stream);
        // Without it every eviction copies, and that is all.
        if (!made.ok()) {
          if (!absl::IsUnavailable(made.status())) driver_->RecordBackgroundError(made.status());
          in_fingerprints_.reset();
          break;
        }
        *fingerprinter = *std::move(made);
      }
    }
    StatusOr<Thread> thread = StartThread(
        "vramspan-out", [this] { OutLoop(); }, [this] { OutEnds(); });
    if (thread.ok()) {
      out_thread_ = *std::move(thread);
    } else {
      Log(LogLevel::kWarning, std::string(thread.status().message()) +
                                  ", so the mover waits for each copy to the host");
      MutexLock lock(mu_);
      out_goes_ = false;
    }
    return absl::OkStatus();
  }

  ~CopyEngineImpl() override {
    {
      MutexLock lock(mu_);
      stop_ = true;
      wake_.NotifyOne();
    }
    out_thread_.Join();
    if (ScopedContext current(*driver_, context_); current.status().ok()) {
      if (in_stream_ != nullptr)
        Cleanup((*driver_)->StreamSynchronize(in_stream_), "cuStreamSynchronize");
      in_fingerprints_.reset();
      out_fingerprints_.reset();
      for (CUstream stream : {in_stream_, out_stream_}) {
        if (stream != nullptr) Cleanup((*driver_)->StreamDestroy(stream), "cuStreamDestroy");
      }
      for (const In& in : in_flight_) spare_events_.push_back(in.event);
      for (CUevent event : spare_events_)
        Cleanup((*driver_)->EventDestroy(event), "cuEventDestroy");
    } else {
      driver_->RecordBackgroundError(current.status());
    }
    if (owned_) Cleanup((*driver_)->CtxDestroy(context_), "cuCtxDestroy");
  }

  void StartIn(DevicePtr to, DevicePtr from, Bytes size, bool print, Copy* copy) override {
    ScopedContext current(*driver_, context_);
    Status status = current.status();
    CUevent event = nullptr;
    if (status.ok()) status = TakeEvent(&event);
    if (status.ok()) {
      status = Check((*driver_)->MemcpyDtoDAsync(to.value, from.value, size.value, in_stream_),
                     "cuMemcpyDtoDAsync", RangeText(from, size));
    }
    std::optional<uint32_t> slot;
    if (status.ok() && print && in_fingerprints_ != nullptr) {
      slot = QueueFingerprint(*in_fingerprints_, to, size);
    }
    if (status.ok()) {
      status =
          Check((*driver_)->EventRecord(event, in_stream_), "cuEventRecord", "after a copy in");
      if (!status.ok()) {
        // The copy may be running, so its memory may not be let go before it has ended.
        Cleanup((*driver_)->StreamSynchronize(in_stream_), "cuStreamSynchronize");
      }
    }
    if (!status.ok()) {
      if (event != nullptr) spare_events_.push_back(event);
      Finish(copy, std::move(status));
      return;
    }
    in_time_.Begin();
    in_flight_.push_back({event, copy, slot});
    leaving_.store(true, std::memory_order_relaxed);
  }

  void StartOut(DevicePtr to, DevicePtr from, Bytes size,
                const std::optional<Fingerprint>& expected, Copy* copy) override {
    const Out out{to, from, size, expected, copy};
    {
      MutexLock lock(mu_);
      if (out_goes_) {
        out_queue_.push_back(out);
        wake_.NotifyOne();
        return;
      }
    }
    const ScopedContext current(*driver_, context_);
    RunOut(out, current.status());
  }

  void Poll() override {
    while (!in_flight_.empty()) {
      const In in = in_flight_.front();
      const CUresult result = (*driver_)->EventQuery(in.event);
      if (result == CUDA_ERROR_NOT_READY) return;
      in_flight_.pop_front();
      spare_events_.push_back(in.event);
      in_time_.End();
      if (result != CUDA_SUCCESS) {
        // Whether the copy has ended is not known; wait for it, since its memory is used again.
        // With our context current: the thread's own, the program's, may be dead.
        ScopedContext current(*driver_, context_);
        Cleanup((*driver_)->StreamSynchronize(in_stream_), "cuStreamSynchronize");
      }
      if (in.print.has_value()) in.copy->print = in_fingerprints_->Take(*in.print);
      Finish(in.copy, Check(result, "cuEventQuery", "of a copy in"));
    }
    leaving_.store(false, std::memory_order_relaxed);
  }

  uint64_t in_nanoseconds() const override { return in_time_.nanoseconds(); }
  uint64_t out_nanoseconds() const override { return out_time_.nanoseconds(); }

 private:
  struct In {
    CUevent event;
    Copy* copy;
    std::optional<uint32_t> print;
  };
  struct Out {
    DevicePtr to, from;
    Bytes size;
    std::optional<Fingerprint> expected;
    Copy* copy;
  };

  void Cleanup(CUresult result, const char* call) {
    driver_->RecordBackgroundError(Check(result, call, "of the mover"));
  }

  static void Finish(Copy* copy, Status status) {
    copy->status = std::move(status);
    copy->done.store(true, std::memory_order_release);
  }

  // None: the chunk is copied, which is always right.
  std::optional<uint32_t> QueueFingerprint(Fingerprinter& fingerprinter, DevicePtr from,
                                           Bytes size) {
    const StatusOr<std::optional<uint32_t>> slot = fingerprinter.Queue(from, size);
    if (slot.ok()) return *slot;
    driver_->RecordBackgroundError(slot.status());
    return std::nullopt;
  }

  Status TakeEvent(CUevent* event) {
    if (!spare_events_.empty()) {
      *event = spare_events_.back();
      spare_events_.pop_back();
      return absl::OkStatus();
    }
    return Check((*driver_)->EventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
                 "for a copy in");
  }

  void OutLoop() {
    const OwnCalls own;
    std::optional<ScopedContext> current;
    for (;;) {
      Out out;
      {
        MutexLock lock(mu_);
        while (out_queue_.empty() && !stop_) wake_.Wait(mu_);
        if (out_queue_.empty()) return;
        out = out_queue_.front();
        out_queue_.pop_front();
      }
      // Once for all copies, unless it fails.
      if (!current.has_value() || !current->status().ok()) current.emplace(*driver_, context_);
      RunOut(out, current->status());
    }
  }

  // The thread has ended before its time: what it had not begun is not copied, and what comes is
  // copied by the mover's.
  void OutEnds() {
    MutexLock lock(mu_);
    out_goes_ = false;
    for (const Out& out : std::exchange(out_queue_, {})) {
      Finish(out.copy, absl::InternalError("the thread that copies to the host has ended"));
    }
  }

  void RunOut(const Out& out, const Status& current) {
    out_time_.Begin();
    Status status = current;
    if (status.ok() && !RunCaught("a copy to the host", [&] { status = CopyOut(out); })) {
      // Its memory is used again.
      Cleanup((*driver_)->StreamSynchronize(out_stream_), "cuStreamSynchronize");
      status = absl::InternalError("a copy to the host was stopped by an exception");
    }
    out_time_.End();
    Finish(out.copy, std::move(status));
  }

  Status CopyOut(const Out& out) {
    std::optional<uint32_t> slot;
    if (out.expected.has_value() && out_fingerprints_ != nullptr) {
      slot = QueueFingerprint(*out_fingerprints_, out.from, out.size);
    }
    if (slot.has_value()) {
      const Status status = WaitOut(Bytes(0));
      const Fingerprint found = out_fingerprints_->Take(*slot);
      VS_RETURN_IF_ERROR(status);
      out.copy->equal = found == *out.expected;
      if (out.copy->equal) return absl::OkStatus();
    }
    Bytes piece;
    for (Bytes at(0); at < out.size; at += piece) {
      piece = std::min(leaving_.load(std::memory_order_relaxed) ? kOutPieceBesideIn : kOutPiece,
                       out.size - at);
      VS_RETURN_IF_ERROR(
          Check((*driver_)->MemcpyDtoDAsync((out.to + at).value, (out.from + at).value, piece.value,
                                            out_stream_),
                "cuMemcpyDtoDAsync", RangeText(out.from + at, piece)));
      VS_RETURN_IF_ERROR(WaitOut(piece));
    }
    return absl::OkStatus();
  }

  // Sleeps for most of the piece's time on the link and polls for the rest: a blocking wait would
  // add its wake-up to every piece.
  Status WaitOut(Bytes piece) {
    for (int polls = 0;; ++polls) {
      const CUresult result = (*driver_)->StreamQuery(out_stream_);
      if (result == CUDA_SUCCESS) return absl::OkStatus();
      if (result != CUDA_ERROR_NOT_READY) {
        // Whether the copy has ended is not known; wait for it, since its memory is used again.
        Cleanup((*driver_)->StreamSynchronize(out_stream_), "cuStreamSynchronize");
        return DriverError(result, "cuStreamQuery", "of a copy out");
      }
      if (polls == 0 && piece >= MiB(8)) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(piece.value / 80));
      } else {
        std::this_thread::yield();
      }
    }
  }

  const std::shared_ptr<const Driver> driver_;
  const CUcontext context_;
  const bool owned_;
  CUstream in_stream_ = nullptr;
  CUstream out_stream_ = nullptr;

  // None where fingerprints cannot be taken. Each belongs to its stream's thread.
  std::unique_ptr<Fingerprinter> in_fingerprints_, out_fingerprints_;

  // The mover's thread only.
  std::deque<In> in_flight_;
  std::atomic<bool> leaving_{false};  // Some are in flight: the out thread reads it.
  std::vector<CUevent> spare_events_;
  BusyTime in_time_;

  BusyTime out_time_;  // By whoever copies out (its total may be read by any).
  Mutex mu_;
  CondVar wake_;
  std::deque<Out> out_queue_ VS_GUARDED_BY(mu_);
  bool stop_ VS_GUARDED_BY(mu_) = false;
  bool out_goes_ VS_GUARDED_BY(mu_) = true;  // There is a thread that copies out.
  Thread out_thread_;
};

}  // namespace

StatusOr<std::unique_ptr<CopyEngine>> CopyEngine::Create(std::shared_ptr<const Driver> driver,
                                                         CUcontext context, int ordinal,
                                                         bool own_context) {
  CUcontext mine = context;
  if (own_context) {
    CUdevice device = 0;
    VS_RETURN_IF_ERROR(Check((*driver)->DeviceGet(&device, ordinal), "cuDeviceGet"));
    CUctxCreateParams params{};
    VS_RETURN_IF_ERROR(
        Check((*driver)->CtxCreate(&mine, &params, 0, device), "cuCtxCreate", "for the mover"));
    CUcontext popped = nullptr;
    const Status status = Check((*driver)->CtxPopCurrent(&popped), "cuCtxPopCurrent");
    if (!status.ok()) {
      driver->RecordBackgroundError(
          Check((*driver)->CtxDestroy(mine), "cuCtxDestroy", "of the mover"));
      return status;
    }
  }
  auto engine = std::make_unique<CopyEngineImpl>(driver, mine, own_context);
  VS_RETURN_IF_ERROR(engine->Start());
  return engine;
}

}  // namespace vramspan
