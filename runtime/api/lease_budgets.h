// A runtime's part in a broker's sharing of the device: its budgets follow the grants, and what is
// recalled is given back before that is said (docs/broker-protocol.md).
//
// The lease's thread hears and speaks (runtime/lease/client.h); a thread of this class does what
// takes driver calls. Neither is ever waited for on the launch path: a launch knows nothing of it.
//
// Threads: any, where nothing else is said.
#ifndef VRAMSPAN_RUNTIME_API_LEASE_BUDGETS_H_
#define VRAMSPAN_RUNTIME_API_LEASE_BUDGETS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/base/thread.h"
#include "runtime/lease/client.h"
#include "runtime/lease/lease_rule.h"
#include "runtime/mover/context_room.h"
#include "runtime/mover/mover.h"

namespace vramspan {

struct LeaseNumbers {
  uint64_t state = 0;  // 0: no lease; else as vramspanStatistics has it.
  uint64_t grants = 0, recalls = 0, reconnects = 0;
};

class LeaseBudgets final : public lease::Member, public ContextRoom {
 public:
  // What drives the budgets of a runtime. Called on this class's thread alone.
  using SetBudgets = std::function<void(const Budgets&)>;

  // Joins the broker of this host, and waits a second at most for its first grants. Null: there is
  // none, or it refuses, and the user insists on none; what it did say is said in one line. An
  // error: the user insists on one, or VRAMSPAN_BROKER says nothing that is understood.
  static StatusOr<std::unique_ptr<LeaseBudgets>> Join(const std::string& device_uuid,
                                                      const LeaseBounds& bounds);
  // For whoever starts before there is a device: an error where the user insists on a broker, and
  // none listens.
  static Status CheckRequired();
  static bool Required();
  // Something is where a broker would listen, as far as is seen without asking it.
  static bool MayJoin();
  ~LeaseBudgets() override;

  Budgets budgets();  // As they are to be now.
  // The tenant's limit of device memory, where that is less than `total`.
  Bytes Limit(Bytes total);

  // From here on budgets change, and the broker is told what the runtime has. Once. An error: there
  // is no thread for it.
  Status Drive(Memory* memory, Mover* mover, SetBudgets set);
  // No work is held any more, and none will be.
  void StopHolding();
  // Nothing changes any more, and the memory is not looked at. The broker is left when this object
  // is destroyed: when nothing is held.
  void Rest();

  // The user allows no more than this, as soon as the thread has seen to it.
  void SetCeilings(std::optional<Bytes> device, std::optional<Bytes> host);
  // A budget was set beside what the broker grants: soon it is that again.
  void Reapply();
  // Memory was put to the host for want of device memory: the broker is told soon.
  void Wants() { client_->Look(); }
  // No grant exceeds this.
  Budgets most();
  // A grant could make room for so much beside what is allocated.
  bool MayHelp(Bytes size);
  // As long as one lives, so much is needed that no budget has room for. It may be waited for, a
  // second at most in all.
  class Need {
   public:
    Need(LeaseBudgets* lease, Bytes bytes);
    ~Need() { lease_.Add(Bytes(0) - bytes_); }
    Need(const Need&) = delete;
    Need& operator=(const Need&) = delete;

    // Another try begins, with the budgets of now.
    void Try() { tried_ = lease_.Applied(); }
    // Waits until a budget has more than at the last try. False: none had, or the time is over.
    bool AwaitMore() { return lease_.AwaitMore(tried_, until_); }

   private:
    LeaseBudgets& lease_;
    const Bytes bytes_;
    const std::chrono::steady_clock::time_point until_;
    Budgets tried_;
  };

  LeaseNumbers numbers();

  // --- of the lease's thread ---
  void Stands(const lease::Standing& standing) override;
  Bytes Most(lease::Memory memory) override;
  lease::Wants First() override;
  lease::ProcessPage Page() override;
  // --- of the mover's ---
  Bytes Before() override;
  void After(std::optional<Bytes> took) override;

 private:
  explicit LeaseBudgets(const LeaseBounds& bounds)
      : bounds_(bounds), budgets_{{}, bounds.alone.host} {}

  void Add(Bytes bytes);
  Budgets Applied();  // As the pools have them.
  bool AwaitMore(const Budgets& than, std::chrono::steady_clock::time_point until);
  void Work();
  void Hold(std::optional<Instant> until) VS_REQUIRES(mu_);
  // Memory is to be given back for which somebody waits.
  bool Recalled() const VS_REQUIRES(mu_) {
    return standing_.device_recalled != Bytes(0) || standing_.host_recalled != Bytes(0) ||
           standing_.state == lease::Session::State::kBarred;
  }
  // Has `set_` done. Whether all that was asked back is back.
  bool Apply(const Budgets& budgets);
  Budgets InPools() const VS_REQUIRES(mu_);

  Mutex mu_;
  CondVar changed_, applied_;
  LeaseBounds bounds_ VS_GUARDED_BY(mu_);
  lease::Standing standing_ VS_GUARDED_BY(mu_);
  Budgets budgets_ VS_GUARDED_BY(mu_);  // As they are to be.
  bool apply_ VS_GUARDED_BY(mu_) = false;
  bool stop_ VS_GUARDED_BY(mu_) = false;
  Bytes needed_ VS_GUARDED_BY(mu_);
  std::optional<Instant> holds_ VS_GUARDED_BY(mu_);  // The mover was told to hold new work.
  bool never_holds_ VS_GUARDED_BY(mu_) = false;
  Memory* memory_ VS_GUARDED_BY(mu_) = nullptr;  // Null: it is not looked at.
  Mover* mover_ VS_GUARDED_BY(mu_) = nullptr;
  SetBudgets set_;  // Before the thread starts.
  Bytes room_;      // Given for a context. The mover's thread.
  std::unique_ptr<lease::Client> client_;
  Thread thread_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LEASE_BUDGETS_H_
