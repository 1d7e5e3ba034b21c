#include "runtime/backing/costs.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/backing/device_pool.h"
#include "runtime/backing/host_pool.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

double Microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Runs a driver call and notes how long it took.
template <typename Call>
Status Timed(std::vector<double>* times, const char* name, Call&& call) {
  const auto start = Clock::now();
  const CUresult result = call();
  times->push_back(Microseconds(Clock::now() - start));
  return Check(result, name);
}

// Handles of one size, again and again at one address.
class HandleMeter {
 public:
  HandleMeter(const Driver& driver, int ordinal, CUmemLocation location)
      : driver_(driver), ordinal_(ordinal) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location = location;
  }

  // None when there is no memory for it. The first round is not counted: it may wake things up.
  StatusOr<std::optional<HandleCosts>> Measure(DevicePtr at, Bytes size) {
    constexpr int kRounds = 7;
    std::vector<double> create, map, access, unmap, release;
    for (int round = 0; round <= kRounds; ++round) {
      if (round == 1) {
        for (auto* times : {&create, &map, &access, &unmap, &release}) times->clear();
      }
      CUmemGenericAllocationHandle handle = 0;
      Status status = Timed(&create, "cuMemCreate",
                            [&] { return driver_->MemCreate(&handle, size.value, &prop_, 0); });
      if (absl::IsResourceExhausted(status)) return std::nullopt;
      VS_RETURN_IF_ERROR(status);
      status = Timed(&map, "cuMemMap",
                     [&] { return driver_->MemMap(at.value, size.value, 0, handle, 0); });
      if (status.ok()) {
        CUmemAccessDesc desc{};
        desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        desc.location.id = ordinal_;
        desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        status = Timed(&access, "cuMemSetAccess",
                       [&] { return driver_->MemSetAccess(at.value, size.value, &desc, 1); });
        status.Update(
            Timed(&unmap, "cuMemUnmap", [&] { return driver_->MemUnmap(at.value, size.value); }));
      }
      status.Update(Timed(&release, "cuMemRelease", [&] { return driver_->MemRelease(handle); }));
      VS_RETURN_IF_ERROR(status);
    }
    return HandleCosts{Median(create), Median(map), Median(access), Median(unmap), Median(release)};
  }

 private:
  const Driver& driver_;
  const int ordinal_;
  CUmemAllocationProp prop_{};
};

Status MeasureHandles(const Driver& driver, const Capabilities& device, DeviceCosts* costs) {
  const Bytes space = ChunkBytes(kMaxChunkLog2);
  CUdeviceptr address = 0;
  VS_RETURN_IF_ERROR(
      Check(driver->MemAddressReserve(&address, space.value, kGranularity.value, 0, 0),
            "cuMemAddressReserve", absl::StrCat(space.value)));
  CUmemLocation on_device{};
  on_device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  on_device.id = device.ordinal;
  HandleMeter device_meter(driver, device.ordinal, on_device);
  HandleMeter host_meter(driver, device.ordinal, device.host);
  Status status;
  for (int i = 0; i < kChunkSizeCount && status.ok(); ++i) {
    ChunkCosts& chunk = costs->chunks[static_cast<size_t>(i)];
    const Bytes size = ChunkBytes(kMinChunkLog2 + i);
    if (auto found = device_meter.Measure(DevicePtr(address), size); found.ok()) {
      chunk.device = *found;
    } else {
      status = found.status();
    }
    if (auto found = host_meter.Measure(DevicePtr(address), size); found.ok()) {
      chunk.host = *found;
    } else {
      status.Update(found.status());
    }
  }
  status.Update(Check(driver->MemAddressFree(address, space.value), "cuMemAddressFree"));
  return status;
}

// A stream that ends with its scope, and whoever is in it first.
class Stream {
 public:
  explicit Stream(const Driver& driver) : driver_(driver) {
    status_ = Check(driver_->StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  ~Stream() {
    if (!status_.ok()) return;
    driver_->StreamSynchronize(stream_);  // An error showed where its work was waited for.
    driver_->StreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const Status& status() const { return status_; }
  CUstream get() const { return stream_; }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
  Status status_;
};

// Chunks of both memories to move bytes between. REQUIRES of all: the context is current.
class TransferMeter {
 public:
  TransferMeter(const Driver& driver, const ProbeKernels* kernels)
      : driver_(driver), kernels_(kernels), in_(driver), out_(driver) {}

  // The largest chunks of which each memory has at least two; as many as make up 256 MiB.
  Status Acquire(HostPool& host, DevicePool& device) {
    VS_RETURN_IF_ERROR(in_.status());
    VS_RETURN_IF_ERROR(out_.status());
    Status last;
    for (int log2 = kMaxChunkLog2; log2 >= kMinChunkLog2; --log2) {
      size_ = ChunkBytes(log2);
      host_.clear();
      device_.clear();
      std::vector<uint32_t> host_slots, device_slots;
      while (host_.size() < 4) {
        const auto host_slot = host.Acquire(log2);
        const auto device_slot = device.Acquire(log2);
        if (host_slot.ok()) host_slots.push_back(*host_slot);
        if (device_slot.ok()) device_slots.push_back(*device_slot);
        last = host_slot.status();
        last.Update(device_slot.status());
        if (!last.ok()) break;
        VS_ASSIGN_OR_RETURN(const DevicePtr alias, device.Alias(*device_slot));
        host_.push_back(host.alias(*host_slot));
        device_.push_back(alias);
      }
      if (host_.size() >= 2) return absl::OkStatus();
      if (!absl::IsResourceExhausted(last)) return last;
      for (const uint32_t slot : host_slots) host.Release(slot);
      for (const uint32_t slot : device_slots) device.Release(slot);
    }
    return last;
  }

  // What the link gives at its best: others who use it meanwhile make it slower, never faster. By
  // turns, so that they are slow for all of it or for none.
  Status Measure(DeviceCosts* costs) {
    constexpr int kRounds = 9;
    const auto in = [&](size_t i) { return Copy(device_[i], host_[i], in_); };
    const auto out = [&](size_t i) { return Copy(host_[i], device_[i], out_); };
    const size_t all = host_.size(), half = all / 2;
    // Half of the chunks each way, so that no chunk is read and written at once.
    const auto both = [&](size_t i) {
      Status status = in(i);
      status.Update(out(half + i));
      return status;
    };
    double read = 0, write = 0;
    for (int round = 0; round < kRounds; ++round) {
      VS_RETURN_IF_ERROR(Better(&costs->copy_to_device, all, 1, in));
      VS_RETURN_IF_ERROR(Better(&costs->copy_to_host, all, 1, out));
      VS_RETURN_IF_ERROR(Better(&costs->copy_both, half, 2, both));
      if (kernels_ == nullptr) continue;
      VS_RETURN_IF_ERROR(Better(&read, all, 1, [&](size_t i) {
        return Launch(kernels_->sum, host_[i], device_[0].value);
      }));
      VS_RETURN_IF_ERROR(
          Better(&write, all, 1, [&](size_t i) { return Launch(kernels_->fill, host_[i], 0); }));
    }
    if (kernels_ != nullptr) {
      costs->kernel_read = read;
      costs->kernel_write = write;
    }
    return absl::OkStatus();
  }

 private:
  Status Copy(DevicePtr to, DevicePtr from, const Stream& stream) {
    return Check(driver_->MemcpyAsync(to.value, from.value, size_.value, stream.get()),
                 "cuMemcpyAsync", RangeText(from, size_));
  }

  // Both kernels take (data, words, number).
  Status Launch(CUfunction kernel, DevicePtr data, uint64_t number) {
    // Enough threads to keep the link busy; each strides through the chunk.
    constexpr unsigned kBlocks = 1024, kThreads = 256;
    uint64_t words = size_.value / sizeof(uint64_t);
    void* args[] = {&data.value, &words, &number};
    return Check(
        driver_->LaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, in_.get(), args, nullptr),
        "cuLaunchKernel");
  }

  // Raises `best` to the GB/s of `steps` steps, each of which submits `chunks` chunks' worth of
  // bytes, where they are more.
  Status Better(double* best, size_t steps, size_t chunks,
                const std::function<Status(size_t)>& submit) {
    const auto start = Clock::now();
    for (size_t i = 0; i < steps; ++i) VS_RETURN_IF_ERROR(submit(i));
    for (const Stream* stream : {&in_, &out_}) {
      VS_RETURN_IF_ERROR(Check(driver_->StreamSynchronize(stream->get()), "cuStreamSynchronize"));
    }
    const double us = std::max(Microseconds(Clock::now() - start), 1e-3);
    *best = std::max(*best, static_cast<double>(size_.value * steps * chunks) / us / 1000);
    return absl::OkStatus();
  }

  const Driver& driver_;
  const ProbeKernels* const kernels_;
  Stream in_, out_;
  Bytes size_;
  std::vector<DevicePtr> host_, device_;
};

// A word that the CPU writes and a stream waits for, and the event behind the wait.
class HoldMeter {
 public:
  explicit HoldMeter(const Driver& driver) : driver_(driver) {}
  ~HoldMeter() {
    if (word_ != nullptr) {
      flag().store(~0u, std::memory_order_release);  // Whatever still waits goes on.
      driver_->StreamSynchronize(stream_.get());
      driver_->MemFreeHost(word_);
    }
    if (event_ != nullptr) driver_->EventDestroy(event_);
  }
  HoldMeter(const HoldMeter&) = delete;
  HoldMeter& operator=(const HoldMeter&) = delete;

  Status Measure(DeviceCosts* costs) {
    constexpr uint32_t kRounds = 50;
    VS_RETURN_IF_ERROR(stream_.status());
    VS_RETURN_IF_ERROR(
        Check(driver_->MemHostAlloc(&word_, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP),
              "cuMemHostAlloc"));
    flag().store(0, std::memory_order_release);
    CUdeviceptr address = 0;
    VS_RETURN_IF_ERROR(
        Check(driver_->MemHostGetDevicePointer(&address, word_, 0), "cuMemHostGetDevicePointer"));
    VS_RETURN_IF_ERROR(
        Check(driver_->EventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
    std::vector<double> call, release;
    for (uint32_t round = 1; round <= kRounds; ++round) {
      VS_RETURN_IF_ERROR(Timed(&call, "cuStreamWaitValue32", [&] {
        return driver_->StreamWaitValue32(stream_.get(), address, round, CU_STREAM_WAIT_VALUE_GEQ);
      }));
      VS_RETURN_IF_ERROR(Check(driver_->EventRecord(event_, stream_.get()), "cuEventRecord"));
      const auto start = Clock::now();
      flag().store(round, std::memory_order_release);
      CUresult result = CUDA_ERROR_NOT_READY;
      while (result == CUDA_ERROR_NOT_READY) result = driver_->EventQuery(event_);
      release.push_back(Microseconds(Clock::now() - start));
      VS_RETURN_IF_ERROR(Check(result, "cuEventQuery"));
    }
    costs->hold_call = Median(call);
    costs->hold_release = Median(release);
    return absl::OkStatus();
  }

 private:
  std::atomic_ref<uint32_t> flag() { return std::atomic_ref(*static_cast<uint32_t*>(word_)); }

  const Driver& driver_;
  Stream stream_{driver_};
  void* word_ = nullptr;
  CUevent event_ = nullptr;
};

}  // namespace

StatusOr<DeviceCosts> MeasureCosts(std::shared_ptr<const Driver> driver, const Capabilities& device,
                                   CUcontext context, const ProbeKernels* kernels) {
  DeviceCosts costs;
  const ScopedContext current(*driver, context);
  VS_RETURN_IF_ERROR(current.status());
  VS_RETURN_IF_ERROR(MeasureHandles(*driver, device, &costs));
  {
    HostPoolOptions host;
    host.ordinal = device.ordinal;
    host.place = device.host;
    host.context = context;
    host.budget = MiB(256);
    VS_ASSIGN_OR_RETURN(const auto host_pool, HostPool::Create(driver, host));
    DevicePoolOptions on_device;
    on_device.ordinal = device.ordinal;
    on_device.context = context;
    on_device.budget = MiB(256);
    VS_ASSIGN_OR_RETURN(const auto device_pool, DevicePool::Create(driver, on_device));
    TransferMeter meter(*driver, kernels);  // Ends before the pools do, with all its work done.
    VS_RETURN_IF_ERROR(meter.Acquire(*host_pool, *device_pool));
    VS_RETURN_IF_ERROR(meter.Measure(&costs));
  }
  HoldMeter meter(*driver);
  VS_RETURN_IF_ERROR(meter.Measure(&costs));
  return costs;
}

}  // namespace vramspan
