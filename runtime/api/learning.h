// Keeps what a run learns of a program's kernels for the next run (docs/learned.md). The file is
// read when the runtime is made, and written when it ends or the process does: never beside a
// launch.
//
// Threads: any. A child of fork, which has it all as bytes, writes nothing.
#ifndef VRAMSPAN_RUNTIME_API_LEARNING_H_
#define VRAMSPAN_RUNTIME_API_LEARNING_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/learned_files.h"
#include "runtime/api/program_key.h"
#include "runtime/backing/leaves_at_exit.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_process.h"
#include "runtime/mover/mover.h"
#include "runtime/observe/submission.h"
#include "runtime/placement/learned_kernels.h"

namespace vramspan {

inline constexpr char kLearnedVariable[] = "VRAMSPAN_LEARNED";

// Whether it is wanted. InvalidArgument names the text and what there is.
StatusOr<bool> ParseLearns(std::string_view text);

class Learning final : private LeavesAtExit {
 public:
  // Begins with what the file of this program says. One that cannot be used is named on stderr, and
  // is as good as none.
  Learning(KeyedFiles files, const ProgramKey& key);
  ~Learning() override;
  // From here on it is kept what the mover's launches teach. The mover outlives this.
  void Begin(Mover* mover);

  // Before a launch that the mover knows as `kernel`, and that touches about so many bytes
  // (RoughSize): where it is the first one, tells the mover what is known of it.
  void Launches(uint64_t kernel, const Submission& launch, uint64_t bytes) VS_EXCLUDES(mu_);

 private:
  // What one of the mover's kernels is in any process.
  struct Named {
    const KernelCode* code;
    KernelIdentity id;
  };

  void Read();
  void Save() VS_EXCLUDES(mu_);
  std::vector<LearnedKernel> Seen(const std::vector<KernelHistory::KnownKernel>& all)
      VS_REQUIRES(mu_);
  void LeaveAtExit() override { Save(); }

  const OwnProcess process_ = OwnProcess::This();
  const KeyedFiles files_;
  Learned before_;
  absl::flat_hash_map<KernelIdentity, const LearnedKernel*> known_;  // In before_.
  Mover* mover_ = nullptr;
  Mutex mu_;
  absl::flat_hash_map<uint64_t, Named> named_ VS_GUARDED_BY(mu_);
};

// Of this process; null where its user has no place for files.
std::unique_ptr<Learning> MakeLearning(const RunningOn& on);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LEARNING_H_
