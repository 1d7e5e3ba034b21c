#ifndef VRAMSPAN_TOOLS_SIMCUDA_CONTROL_STATE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CONTROL_STATE_H_

// The failure switches, delays and call counts behind control.h and the environment variables
// SIMCUDA_FAIL and SIMCUDA_DELAY. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simcuda/mutex.h"

namespace simcuda {

class ControlState {
 public:
  static ControlState& Get();

  // Counts the call, waits out its delay, and says whether it is to fail.
  CUresult OnCall(size_t entry_id);

  bool Fail(std::string_view name, uint64_t nth, int64_t count, CUresult result);
  bool SetDelay(std::string_view name, unsigned microseconds);
  int64_t CallCount(std::string_view name) const;
  uint64_t failed_calls() const { return failed_calls_.load(std::memory_order_relaxed); }
  void Reset();

 private:
  struct FailRule {
    std::string name;
    uint64_t skip;  // calls that still pass
    int64_t left;   // calls that still fail; negative: all
    CUresult result;
  };

  ControlState();
  void ReadEnvironment();
  CUresult ApplyRules(size_t entry_id);

  std::vector<std::atomic<uint64_t>> calls_;
  std::vector<std::atomic<unsigned>> delays_;
  std::atomic<bool> has_rules_{false};
  std::atomic<uint64_t> failed_calls_{0};
  Mutex mutex_;
  std::vector<FailRule> rules_ SIMCUDA_GUARDED_BY(mutex_);
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CONTROL_STATE_H_
