#include "runtime/backing/leaves_at_exit.h"

#include <cstdlib>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/own_process.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

struct JoinedAll {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  std::vector<LeavesAtExit*> all VS_GUARDED_BY(mu);
};

// Never destroyed: the program's handlers may run after ours.
JoinedAll& TheJoined() {
  static JoinedAll* const joined = new JoinedAll;
  return *joined;
}

}  // namespace

void LeavesAtExit::Joined() {
  JoinedAll& joined = TheJoined();
  MutexLock lock(joined.mu);
  static const int registered = std::atexit(&AllLeave);
  static_cast<void>(registered);
  joined.all.push_back(this);
}

void LeavesAtExit::Gone() {
  JoinedAll& joined = TheJoined();
  // In a child of fork somebody may hold it for ever.
  if (!joined.process.Here()) return;
  MutexLock lock(joined.mu);
  std::erase(joined.all, this);
}

void LeavesAtExit::AllLeave() {
  // Who is cancelled here leaves the lock held, and does not end the process.
  const Uncancellable now;
  JoinedAll& joined = TheJoined();
  if (!joined.process.Ends() || !joined.mu.TryLock()) return;
  for (LeavesAtExit* const one : joined.all) one->LeaveAtExit();
  joined.all.clear();
  joined.mu.Unlock();
}

}  // namespace vramspan
