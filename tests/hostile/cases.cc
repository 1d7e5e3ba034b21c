#include "tests/hostile/cases.h"

namespace vramspan_test {
namespace {

// By a link, since LD_PRELOAD is split at spaces.
const std::string kMachine =
    "ln -s '" HOSTILE_MACHINE "' %d/machine.so; export LD_PRELOAD=%d/machine.so";

}  // namespace

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      // Plain work, as the programs do it that have nothing odd about them.
      {"work 16", {kAmple, kShort, kTiny, kSafe, kAll, kRecorded}},
      // What a process may not have.
      {"work 16", {kShort}, "unset HOME XDG_CACHE_HOME;"},
      {"work 16", {kShort}, "export HOME=/proc XDG_CACHE_HOME=/proc;"},
      {"work 16", {kShort}, "ulimit -n 32;"},
#ifndef __SANITIZE_ADDRESS__  // Which reserves terabytes of addresses before a program starts.
      {"work 16", {kShort}, "ulimit -v 4000000;"},
#endif
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
      {"close_fds %d", {kRecordedAmple}},
      {"close_fds %d more", {kShort, kRecorded}},
      {"ipc_listener", {kAmple, kShort}},
      // Threads that come and go with streams of their own, many of them, and much in flight.
      // Queues for all its threads' streams: where two share one, the program waits for itself.
      {"thread_streams 3", {kShort, kSafe, kAll}, "export CUDA_DEVICE_MAX_CONNECTIONS=32;", 3, 334},
      {"many_threads 50 2", {kShort}},
      {"in_flight", {kShort}},
      // Mappings of the program's own beside other threads' launches, and beside a kernel that
      // waits.
      {"mappings alias 5", {kShort, kSafe, kAll}},
      {"mappings export 5", {kShort, kSafe, kAll}},
      {"mappings alias_waiting", {kShort, kSafe, kAll}},
      {"mappings unmap_waiting", {kShort, kSafe, kAll}},
      // Signals of the program's own, and a limit on its files.
      {"signals masks", {kShort}},
      {"signals sigwait", {kShort}},
      {"signals timers", {kShort}},
      {"file_limit", {kRecordedAmple}},
      // Nobody reads what is said.
      {"closed_stderr %d", {kShort, kShort + " --stats"}},
      {"broken_pipe", {kShort, kShort + " --stats"}},
      {"broken_pipe full", {kShort, kShort + " --stats"}},
      // Its threads are refused, all but so many, and the clock is set back.
      {"work 16", {kShort, kRecorded}, kMachine + " HOSTILE_THREADS=0;"},
      {"work 16", {kShort, kRecorded}, kMachine + " HOSTILE_THREADS=1;"},
      {"work 16", {kShort, kRecorded}, kMachine + " HOSTILE_THREADS=2;"},
      {"work 16", {kRecorded}, kMachine + " HOSTILE_THREADS=3;"},
      {"work 16", {kRecorded}, kMachine + " HOSTILE_THREADS=4;"},
      {"rounds 3 10", {kShort}, kMachine + " HOSTILE_CLOCK=20;"},
      // Kernels whose parameters show no pointers.
      {"encoded 4", {kShort, kSafe, kAll}, "", 1, 50},
      // Calls that make little sense.
      {"odd_calls", {kAmple, kShort, kSafe, kAll}},
  };
  return *cases;
}

}  // namespace vramspan_test
