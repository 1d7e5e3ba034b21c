#include "tests/hostile/cases.h"

namespace vramspan_test {

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      // Plain work, as the programs do it that have nothing odd about them.
      {"work 16", {kAmple, kShort, kTiny, kSafe, kAll, kRecorded}},
      // What a process may not have.
      {"work 16", {kShort}, "unset HOME XDG_CACHE_HOME;"},
      {"work 16", {kShort}, "export HOME=/proc XDG_CACHE_HOME=/proc;"},
      {"work 16", {kShort}, "ulimit -n 32;"},
      {"work 16", {kShort}, "ulimit -v 4000000;"},
      {"work 16", {kShort}, "ulimit -l 0;"},
      {"work 16", {kShort + " --stats"}},
      // Ways to end while work is held and in flight.
      {"ends exit", {kShort, kRecorded}},
      {"ends exit_never", {kShort}},
      {"ends _exit", {kShort, kRecorded}},
      {"ends quick_exit", {kShort}},
      {"ends return", {kShort, kRecorded}},
      {"ends thread_exit", {kShort}},
      {"ends abort", {kShort}},
      {"ends segv", {kShort, kRecorded}},
      // Ways to end the context, or to be stopped, meanwhile.
      {"ends reset", {kShort, kRecorded}},
      {"ends release", {kShort}},
      {"ends reset_again", {kShort}},
      {"ends reset_beside", {kShort}},
      {"ends callback_free", {kShort}},
      {"ends callback_free_held", {kShort}},
      {"ends stop", {kShort}},
      // Children, and threads that are cancelled, beside launches.
      {"forks 200", {kRecordedAmple, kShort, kRecorded}},
      {"cancel 10", {kAmple, kShort, kSafe, kAll, kRecorded}},
      // It closes what it does not know, and its own sockets get the numbers.
      {"ipc_listener", {kAmple, kShort}},
      // Threads that come and go with streams of their own, many of them, and much in flight.
      {"thread_streams 3", {kShort, kSafe}},
      {"many_threads 50 2", {kShort}},
      {"in_flight", {kShort}},
      // Mappings of the program's own beside other threads' launches, and beside a kernel that
      // waits.
      {"mappings alias 5", {kShort, kSafe}},
      {"mappings export 5", {kShort, kSafe}},
      {"mappings alias_waiting", {kShort}},
      {"mappings unmap_waiting", {kShort, kSafe}},
      // Signals of the program's own, and a limit on its files.
      {"signals masks", {kShort}},
      {"signals sigwait", {kShort}},
      {"file_limit", {kRecordedAmple}},
      // Nobody reads what is said.
      {"closed_stderr %d", {kShort, kShort + " --stats"}},
      {"broken_pipe", {kShort}},
      {"broken_pipe full", {kShort}},
  };
  return *cases;
}

}  // namespace vramspan_test
