#include "runtime/preload/launch_times.h"

#include <chrono>

#include "runtime/base/own_calls.h"
#include "runtime/preload/beside_captures.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

struct EventCalls {
  decltype(&::cuEventCreate) create;
  decltype(&::cuEventDestroy_v2) destroy;
  decltype(&::cuEventRecord) record;
  decltype(&::cuEventQuery) query;
  decltype(&::cuEventElapsedTime) elapsed;

  bool all() const { return create && destroy && record && query && elapsed; }
  static const EventCalls& Get() {
    static const EventCalls calls = {
        DriverFunction<decltype(create)>("cuEventCreate"),
        DriverFunction<decltype(destroy)>("cuEventDestroy_v2"),
        DriverFunction<decltype(record)>("cuEventRecord"),
        DriverFunction<decltype(query)>("cuEventQuery"),
        DriverFunction<decltype(elapsed)>("cuEventElapsedTime"),
    };
    return calls;
  }
};

}  // namespace

LaunchTimes::~LaunchTimes() {
  const OwnCalls own;
  for (const Launch& launch : launches_) {
    for (const CUevent event : {launch.begin, launch.end}) {
      if (event != nullptr) EventCalls::Get().destroy(event);
    }
  }
}

void LaunchTimes::Abandon() {
  launches_ = {};
  count_ = 0;
  begun_ = false;
}

void LaunchTimes::Begin(CUstream stream) {
  begun_ = false;
  const EventCalls& calls = EventCalls::Get();
  if (count_ == kMost || !calls.all()) return;
  const OwnCalls own;
  const BesideCaptures beside;
  Launch& launch = Nth(count_);
  for (CUevent* const event : {&launch.begin, &launch.end}) {
    if (*event == nullptr && calls.create(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      *event = nullptr;
      return;
    }
  }
  begun_ = calls.record(launch.begin, stream) == CUDA_SUCCESS;
}

void LaunchTimes::End(CUstream stream, GraphWay way) {
  if (!begun_) return;
  begun_ = false;
  const OwnCalls own;
  Launch& launch = Nth(count_);
  launch.way = way;
  count_ += EventCalls::Get().record(launch.end, stream) == CUDA_SUCCESS;
}

void LaunchTimes::Collect(absl::FunctionRef<void(GraphWay, Duration)> tell) {
  if (count_ == 0) return;
  const OwnCalls own;
  const BesideCaptures beside;
  const EventCalls& calls = EventCalls::Get();
  while (count_ != 0 && calls.query(Nth(0).end) != CUDA_ERROR_NOT_READY) {
    const Launch launch = Nth(0);
    first_ = (first_ + 1) % kMost;
    --count_;
    float ms = 0;
    if (calls.elapsed(&ms, launch.begin, launch.end) != CUDA_SUCCESS) continue;
    tell(launch.way,
         std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(ms)));
  }
}

}  // namespace vramspan::preload
