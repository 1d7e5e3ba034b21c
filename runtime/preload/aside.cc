#include "runtime/preload/aside.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/api/statistics_text.h"
#include "runtime/base/log.h"
#include "runtime/base/mutex.h"

namespace vramspan::preload {
namespace {

struct Aside {
  std::string where, why;
};

// Never taken apart: threads may come here until the process is gone.
struct State {
  Mutex mu;
  pid_t process VS_GUARDED_BY(mu) = 0;
  std::vector<Aside> all VS_GUARDED_BY(mu);
};

State& TheState() {
  static State* const state = new State;
  return *state;
}

// At the end, where the statistics of runtimes are written as well.
void WriteAll() {
  State& state = TheState();
  MutexLock lock(state.mu);
  if (state.process != getpid()) return;  // A child of fork ends as its parent would.
  for (const Aside& a : state.all) {
    const Status written = WriteStatisticsOff(a.where, a.why);
    if (!written.ok()) Log(LogLevel::kWarning, written.message());
  }
}

}  // namespace

void StandAside(std::string_view where, std::string_view why) {
  Log(LogLevel::kError, absl::StrCat("the program runs as without vramspan ", where, ": ", why));
  StandAsideAsAsked(where, why);
}

void StandAsideAsAsked(std::string_view where, std::string_view why) {
  State& state = TheState();
  MutexLock lock(state.mu);
  if (state.process != getpid()) {
    state.process = getpid();
    state.all.clear();
  }
  static const int registered = std::atexit(&WriteAll);
  static_cast<void>(registered);
  state.all.push_back({std::string(where), std::string(why)});
}

}  // namespace vramspan::preload
