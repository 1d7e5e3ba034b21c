// One runtime: a driver, a context, the memory of one device and the mover, put together from the
// configuration. The C functions of capi.cc are thin over this.
#ifndef VRAMSPAN_RUNTIME_API_RUNTIME_H_
#define VRAMSPAN_RUNTIME_API_RUNTIME_H_

#include <absl/cleanup/cleanup.h>

#include <memory>
#include <optional>
#include <type_traits>

#include "include/vramspan/vramspan.h"
#include "runtime/api/event_recording.h"
#include "runtime/api/kernel_teacher.h"
#include "runtime/api/learning.h"
#include "runtime/api/lease_budgets.h"
#include "runtime/api/live_show.h"
#include "runtime/api/profile_pins.h"
#include "runtime/api/tracer.h"
#include "runtime/backing/device_room.h"
#include "runtime/mover/mover.h"
#include "runtime/space/no_addresses.h"

namespace vramspan {

class Runtime {
 public:
  // Fields of `config` that are NULL come from the environment, else from the defaults. Errors name
  // the field, its value and what is allowed, or what the machine lacks.
  static StatusOr<std::unique_ptr<Runtime>> Create(const vramspanConfig* config);
  // Nobody calls it any more, and it ends, in the time that work and moves under way take.
  // DeadlineExceeded where a thread is inside it for long: in a work scope, or in a traced call
  // that does not return. Then nothing moves any more, launches are not seen, and `runtime` is
  // there still, for that thread; it may be tried again.
  static Status End(std::unique_ptr<Runtime>* runtime);
  ~Runtime();

  const std::shared_ptr<const Driver>& driver() const { return driver_; }
  Memory& memory() { return *memory_; }
  Mover& mover() { return *mover_; }

  StatusOr<DevicePtr> Allocate(Bytes size);
  // `idle`: all work that may touch it has ended, as the caller knows: then nothing is waited for.
  Status Free(DevicePtr ptr, bool idle = false);
  // As of Memory. Memory is shared out as for allocations.
  StatusOr<DetachedMemory> MakeDetached(Bytes size);
  // Mover::Unmap and Mover::Replace.
  StatusOr<std::vector<DetachedMemory>> UnmapLoose(absl::Span<const DevicePtr> mappings,
                                                   DevicePtr p, Bytes size);
  StatusOr<DetachedMemory> ReplaceLoose(absl::Span<const DevicePtr> mappings, Bytes size,
                                        CUmemGenericAllocationHandle by,
                                        absl::FunctionRef<Status(const DetachedMemory&)> copy,
                                        absl::FunctionRef<Status(DevicePtr)> open);
  // Mover::Share. Where the device has no room for the chunk that it takes meanwhile, other memory
  // makes room.
  StatusOr<SharedMemory> Share(DevicePtr ptr, Bytes size);
  Status Advise(DevicePtr ptr, Bytes size, vramspanAdvice advice);
  // What the program declares, between vramspanWorkBegin and vramspanWorkEnd.
  Status BeginWork(CUstream stream, absl::Span<const WorkRange> ranges, Access access);
  Status EndWork(CUstream stream);
  // `given`: it is the user's word. Else it holds for a while, as the driver itself needs memory.
  Status SetDeviceBudget(Bytes budget, bool given = true);
  // What the budget is where no other program takes part of it.
  Bytes DeviceCeiling() const;
  // What is in the range is not wanted any more, behind all work that was submitted. Does nothing
  // while memory suffices, and only where launches are seen: else what is not declared may fill the
  // range again. `unowned`: nor does anybody touch the range until Own, for it waits in a pool;
  // before anybody else may be given it. `during`: Placements::GiveUp. An error inside a scope, if
  // it is owned.
  Status GiveUp(DevicePtr ptr, Bytes size, bool unowned,
                std::optional<uint64_t> during = std::nullopt);
  // Before whoever asked for it is given it.
  void Own(DevicePtr ptr, Bytes size);
  // An allocator of the program hands out a block of an allocation of so many bytes, or has it
  // back: then they are negative. `captured`: while work is captured. See Blocks.
  void BlockReported(DevicePtr p, int64_t bytes, bool captured);
  // The allocator that reports has just made the allocation by itself. See Blocks.
  void OnlyReported(DevicePtr allocation);
  // The allocator has given that memory back, though it stays allocated here.
  void ForgetBlocks(DevicePtr ptr, Bytes size);
  Status SetHostBudget(Bytes budget);
  Status SetPeerAccess(CUdevice peer, bool allowed);
  StatusOr<vramspanResidency> Residency(DevicePtr ptr, Bytes size);
  vramspanStatistics Statistics();
  // No work waits for a turn on the GPU any more, and none will: the runtime is to end.
  void StopHolding();
  // What the device is for this program, of which the driver says that it has `total`: the limit of
  // its tenant. None: no broker shares it out.
  std::optional<Bytes> LeaseLimit(Bytes total);
  // The most that device and host may ever have for it together, whatever is granted now. None as
  // above.
  std::optional<Bytes> LeaseMost();
  // Says on stderr what too little device memory has cost, where that it is short was said.
  void TellSpill(const vramspanStatistics& statistics) const;
  // The process ends. Where this is recorded nothing moves from here on, for good, so that the
  // recording and the statistics end with the same.
  void EndRecordedMoves();

 private:
  class Maker;

  Runtime() = default;
  // The budgets of `memory` become what the broker grants, where there is one. `device_given`,
  // `host_given`: the user has set them, and no grant makes them more.
  Status JoinBroker(const std::string& device_uuid, bool device_given, bool host_given,
                    MemoryOptions* memory);
  // Where none does, the programs of this user share the device out among themselves.
  Status ShareByClaims(const std::string& device_uuid, bool device_given, MemoryOptions* memory);
  // Without a check of what the program may ask for.
  void ApplyDeviceBudget(Bytes budget);
  // The pool has another budget.
  void TellDeviceBudget();
  // Before so much is allocated: where device memory is short, others may give some up. No lock is
  // held.
  void AwaitRoom(Bytes size);
  // Allocates as `allocate` does. Where no budget has room, the broker is asked for more first, and
  // a larger grant is waited for, a second at most.
  template <typename Call>
  std::invoke_result_t<Call> WithLease(Bytes size, Call allocate);
  // Others of this user see from here on how it stands.
  Status ShowLive(LiveDevice device);

  std::shared_ptr<const Driver> driver_;
  CUcontext context_ = nullptr;
  CUdevice device_ = 0;
  Bytes total_;                             // The device's memory.
  Prices prices_;                           // This device's, as far as they are known.
  Mutex telling_;                           // Who hears of budgets hears of the latest last.
  bool retained_ = false;                   // The primary context was retained by us.
  std::unique_ptr<Recorder> recorder_;      // None: this is not recorded. The rest tells it things.
  std::unique_ptr<EventRecording> events_;  // None: its scheduler's events are not recorded.
  std::unique_ptr<KernelTeacher> teacher_;
  std::unique_ptr<ProfilePins> profile_pins_;  // None: nothing is named that is to be kept.
  std::unique_ptr<LeaseBudgets> lease_;        // None: no broker shares the device out.
  std::unique_ptr<DeviceRoom> room_;           // None: no others are looked for.
  std::unique_ptr<Memory> memory_;
  Showing showing_;
  std::unique_ptr<Mover> mover_;
  std::unique_ptr<Learning> learning_;  // None: nothing is kept for a later run.
  std::unique_ptr<Audit> audit_;    // None: this is no audit. The tracer and the mover go after it.
  std::unique_ptr<Tracer> tracer_;  // None: only what is declared is known.
  std::unique_ptr<LiveShow> live_;  // None: nobody sees how it stands.
};

template <typename Call>
std::invoke_result_t<Call> Runtime::WithLease(Bytes size, Call allocate) {
  if (room_ != nullptr) AwaitRoom(size);
  const auto shown = absl::MakeCleanup([this] { showing_.Change(); });
  auto allocated = allocate();
  if (lease_ == nullptr) [[likely]]
    return allocated;
  const auto helps_more = [&] {
    return absl::IsResourceExhausted(allocated.status()) && !LacksAddresses(allocated.status());
  };
  if (helps_more() && lease_->MayHelp(size)) {
    LeaseBudgets::Need need(lease_.get(), size);
    do {
      need.Try();
      allocated = allocate();
    } while (helps_more() && need.AwaitMore());
  }
  if (memory_->supply().host_used()) lease_->Wants();
  return allocated;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_RUNTIME_H_
