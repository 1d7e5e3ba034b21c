// What a program does with what its broker says, in virtual time: the runtime's rules
// (runtime/lease) over a replay's memory. It looks round at each event, and messages take no time.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_TENANT_LEASE_H_
#define VRAMSPAN_TOOLS_REPLAY_TENANT_LEASE_H_

#include <optional>
#include <vector>

#include "runtime/lease/lease_rule.h"
#include "runtime/lease/said_wants.h"
#include "runtime/lease/session.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/replay/virtual_memory.h"

namespace vramspan::replay {

class TenantLease {
 public:
  // `device_memory`: all there is. No grant is more.
  TenantLease(broker::ProcessId id, const broker::Policy& policy, Bytes device_memory);

  // What the broker says to this process.
  void Told(const broker::Action& action, Instant now);
  // What the process answers and says. `page`: the broker looks at what nobody said.
  std::vector<broker::Event> LookRound(Instant now, const VirtualMemory& memory,
                                       const WorkSeen& work, bool page);
  // When it has something to say though nothing happens.
  std::optional<Instant> Due() const { return session_.Due(); }
  // What of the device may be used now.
  Bytes budget() const { return budgets_.device; }
  // Others have the GPU: it submits nothing.
  bool holds() const { return session_.holds(); }
  // What it is granted: what is recalled is among it until that is given back.
  Bytes grant() const { return session_.grants().device; }
  bool recalled() const { return session_.Open(lease::Memory::kDevice); }
  Bytes recalled_bytes() const { return session_.Recalled(lease::Memory::kDevice); }

 private:
  void Stands();
  void Answer(lease::Memory memory, Bytes most, bool due, lease::Effects* effects);
  HeldMemory Held(const VirtualMemory& memory) const;

  const broker::ProcessId id_;
  const LeaseBounds bounds_;
  lease::Session session_;
  lease::Standing standing_;
  lease::SaidWants said_wants_;
  Budgets budgets_;
  broker::Said said_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TENANT_LEASE_H_
