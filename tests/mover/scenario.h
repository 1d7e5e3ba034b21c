// A program that makes the runtime do everything it does, in three stages, any of which may run
// with failing driver calls: what failures_test.cc drives.
#ifndef VRAMSPAN_TESTS_MOVER_SCENARIO_H_
#define VRAMSPAN_TESTS_MOVER_SCENARIO_H_

#include <mutex>
#include <string>
#include <vector>

#include "tests/mover/world.h"

namespace vramspan_test {

enum class Mode {
  kOwnContext,     // The mover has a context of its own.
  kSharedContext,  // VRAMSPAN_CONFIG_SHARE_CONTEXT.
  kPrimary,        // Own, and created with no context current: the runtime retains the primary one.
};
const char* ModeName(Mode mode);

enum class Stage {
  kCreate,
  kRun,  // Allocate, work, move by hand, change budgets, free: before and after memory is short.
  kDestroy,
};
const char* StageName(Stage stage);

class Scenario {
 public:
  // No call may fail in here, nor in the destructor.
  Scenario(World& world, Mode mode);
  ~Scenario();
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  // What comes before a stage, as far as the stage needs it. No call may fail yet.
  void Before(Stage stage);
  // Whatever vramspan's calls report meanwhile is gathered. A stage ends when nothing is under way
  // any more that could still fail.
  void Do(Stage stage);

  // After the failures have been switched off: whether every word is what it must be, and whether a
  // whole program works, from creation (where there is no runtime) to destruction, without an error
  // and with everything back at the driver. Fails the test where it does not.
  void Recover();

  // Gathers what the background has to say; any thread.
  void TakeBackgroundError();
  // Whether one of the errors names the call.
  bool Named(const std::string& call) const;
  std::vector<std::string> errors() const;

 private:
  bool Try(CUresult result);  // Gathers the error; true where there is none.
  void Create();
  void RunBeforeMemoryIsShort();
  void FillMemory();
  void MoveExplicitly();
  void FreeAndAllocate();
  void Destroy();

  bool TryAlloc(size_t bytes);
  void TryFree(size_t i);
  void TryFill(size_t i);
  void TryAdd(size_t i);
  void TryRead(size_t i);
  void Round();
  void Settle();
  void CheckContents(const char* when);
  vramspanStatistics CheckStatistics(const char* when);
  CUstream StreamOf(size_t i) const { return streams_[i % 2]; }

  World& world_;
  const Mode mode_;
  const HostFlag sums_;       // What read-only work writes to.
  CUstream streams_[3] = {};  // The third is forgotten while its end is unknown.
  vramspanRuntime runtime_ = nullptr;
  std::vector<Buffer> buffers_;
  std::vector<bool> written_;
  std::vector<CUdeviceptr> small_;
  bool forget_ = false;  // The third stream has yet to be forgotten.
  size_t failed_frees_ = 0;
  long long device_before_ = 0, host_before_ = 0;

  mutable std::mutex mu_;
  std::vector<std::string> errors_;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_SCENARIO_H_
