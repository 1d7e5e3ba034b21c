// Shows others of the same user how a runtime stands: a live record, written by the mover's thread
// now and then while something changes (docs/top.md).
//
// Threads: the mover's, once it is made.
#ifndef VRAMSPAN_RUNTIME_API_LIVE_SHOW_H_
#define VRAMSPAN_RUNTIME_API_LIVE_SHOW_H_

#include <array>
#include <functional>
#include <string>

#include "include/vramspan/vramspan.h"
#include "runtime/api/live_file.h"
#include "runtime/base/units.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/showing.h"

namespace vramspan {

// What of a runtime does not change.
struct LiveDevice {
  std::string uuid, name;
  int ordinal = 0;
  Bytes memory;
  double move_gb_per_s = 0, serve_gb_per_s = 0;
  uint64_t flags = 0;  // Of LiveRecord.
};

// What does.
struct LiveNumbers {
  vramspanStatistics statistics{};
  Bytes charged;
  bool was_short = false;
  std::array<MovesMade, kMoveCauses> moved;
};

class LiveShow final : public Onlooker {
 public:
  LiveShow(const LiveDevice& device, std::function<LiveNumbers()> numbers,
           std::vector<UserFolder> places);

  void Look() override;

 private:
  void Take(const LiveNumbers& now);
  // So much more of it than at the last look.
  void Decided(uint32_t what, uint64_t count, uint64_t bytes);

  LiveRecord record_;
  const std::function<LiveNumbers()> numbers_;
  uint32_t next_ = 0;  // Of the decisions, the oldest.
  bool looked_ = false;
  LiveFile file_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LIVE_SHOW_H_
