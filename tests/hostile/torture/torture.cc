// A random program of the driver API, checked throughout, which knows nothing of vramspan: it is
// linked to the driver alone, and is run under `vramspan run` or without. Threads come and go, make
// and destroy streams, wait for each other by events, and work on memory of every kind; what every
// word must be is known from a few numbers a cell, kept by the thread that owns the array, so that
// a check needs no lock.
//
// It runs in eras: each makes all anew, and ends in order, with everything checked and freed, or
// with the context reset while work is under way. The last may end by leaving the process in the
// middle. What is done depends on the seed alone; what overlaps does not.
//
// It keeps to what the real driver bears. With --lax it does three things more, for the simulated
// one (what is told here was seen on an H100 and an H200 with driver 580.159.04, without vramspan):
// - Children of fork end by exit(), too. The real driver's own handler dies there by SIGSEGV.
// - Threads end with work in their own default stream under way. The real driver may leave that
//   stream to a thread which it starts under a lock that the new thread needs: it waits for itself
//   for ever.
// - Pools are destroyed while memory from them is in use. The real driver allows that, and dies by
//   SIGSEGV within a minute, in a later cuMemPoolDestroy or in what waits for a stream or an event.
//   Without --lax they are destroyed when the era ends.
//
// Exit code: 0, all was right; 1, something was not, and a line on stderr says what; 2, the command
// line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tests/hostile/torture/worker.h"

namespace torture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(100);

// The process leaves while threads run: what the driver answers them from here on is no concern of
// theirs.
std::atomic<bool> leaving{false};

enum class How { kInOrder, kReset, kLeave };

[[noreturn]] void Broken(const std::string& text) {
  while (leaving) pause();
  std::fprintf(stderr, "torture: %s\n", text.c_str());
  std::_Exit(1);
}

template <typename Body>
void Guarded(Body&& body) {
  try {
    body();
  } catch (const Failure& failure) {
    Broken(failure.text);
  }
}

// One thread after the other, until all are stopped.
void KeepSlot(Program& program, Slot& slot) {
  std::thread([&] { Guarded([&] { Worker(program, slot).MakeSlot(); }); }).join();
  while (!program.stop) {
    const uint64_t steps = 1 + slot.random() % (slot.random() % 4 == 0 ? 200 : 20);
    ++program.threads;
    std::thread([&] {
      Guarded([&] {
        Worker worker(program, slot);
        worker.Begin();
        for (uint64_t i = 0; i < steps && !program.stop; ++i) {
          worker.Step();
          ++program.operations;
        }
        worker.End();
      });
    }).join();
  }
}

void Conclude(Program& program, Slot& slot, How how) {
  std::thread([&] {
    Guarded([&] {
      Worker worker(program, slot);
      worker.Begin();
      if (how == How::kReset) return worker.Abandon();
      worker.CheckAll();
      worker.FreeSlot();
    });
  }).join();
}

// Nobody has arrays that are on their way from here on.
void TakeBack(Program& program, Slot& slot) {
  for (Passed& passed : program.passed) {
    Program& program_ = program;
    MUST(cuEventSynchronize(passed.behind));
    MUST(cuEventDestroy(passed.behind));
    slot.arrays.push_back(std::move(passed.array));
  }
  program.passed.clear();
}

void Say(const Program& program) {
  std::printf(
      "%llu operations of %llu threads, %llu cells checked, %llu allocations refused, %llu "
      "injected "
      "failures met\n",
      static_cast<unsigned long long>(program.operations.load()),
      static_cast<unsigned long long>(program.threads.load()),
      static_cast<unsigned long long>(program.checked.load()),
      static_cast<unsigned long long>(program.refused.load()),
      static_cast<unsigned long long>(program.injected.load()));
  std::fflush(stdout);
}

[[noreturn]] void Leave(Program& program, uint64_t way) {
  Say(program);
  leaving = true;
  if (way == 0) std::exit(0);
  if (way == 1) std::quick_exit(0);
  _exit(0);
}

// `slots` outlives the process where that is left in the middle.
void RunEra(Program& program, std::vector<Slot>& slots, How how, double seconds, uint64_t way) {
  program.stop = false;
  std::vector<std::thread> keepers;
  for (Slot& slot : slots) keepers.emplace_back([&] { KeepSlot(program, slot); });
  const auto begin = Clock::now();
  while (!program.Late() && Clock::now() - begin < std::chrono::duration<double>(seconds)) {
    usleep(2000);
  }
  if (how == How::kLeave) Leave(program, way);
  program.stop = true;
  for (std::thread& keeper : keepers) keeper.join();
  Guarded([&] { TakeBack(program, slots[0]); });
  for (Slot& slot : slots) Conclude(program, slot, how);
  Guarded([&] {
    Program& program_ = program;
    for (const CUmemoryPool pool : program.old_pools) MUST(cuMemPoolDestroy(pool));
    program.old_pools.clear();
    if (how == How::kReset) {
      MUST(cuDevicePrimaryCtxReset(program.device));
    } else {
      MUST(cuModuleUnload(program.module));
      MUST(cuModuleUnload(program.slow_module));
    }
    MUST(cuDevicePrimaryCtxRelease(program.device));
  });
}

// Nothing waits for ever.
void Watch(const Program& program) {
  std::thread([&program] {
    uint64_t seen = 0;
    for (auto since = Clock::now(); Clock::now() - since < kPatience || leaving; sleep(1)) {
      const uint64_t now = program.operations + program.checked;
      if (now != seen) since = Clock::now();
      seen = now;
    }
    std::fprintf(stderr, "torture: nothing has happened for %d s\n",
                 static_cast<int>(kPatience.count()));
    std::abort();
  }).detach();
}

// So that a run that was to have a library beside it, and had none, does not pass.
bool Mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

int Run(const Options& options) {
  if (!options.beside.empty() && !Mapped(options.beside)) {
    std::fprintf(stderr, "torture: %s is not in this process\n", options.beside.c_str());
    return 1;
  }
  auto& program = *new Program;
  program.options = options;
  program.begin = Clock::now();
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  Watch(program);
  std::mt19937_64 random(options.seed);
  for (uint64_t era = 0;; ++era) {
    const double left =
        options.seconds - std::chrono::duration<double>(Clock::now() - program.begin).count();
    double seconds = 0.3 + static_cast<double>(random() % 1000) / 1000 * options.seconds / 3;
    const uint64_t way = random() % 5;
    const bool last = program.Late() || seconds >= left;
    How how = random() % 3 == 0 && options.resets ? How::kReset : How::kInOrder;
    if (last && options.exits && way < 3) how = How::kLeave;
    if (options.seconds == 0) seconds = 1e9;
    Guarded([&] { program.Start(); });
    auto& slots = *new std::vector<Slot>(static_cast<size_t>(options.threads));
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].random.seed(options.seed * 1000003 + era * 101 + i);
    }
    RunEra(program, slots, how, std::max(seconds, 0.05), way);
    delete &slots;
    if (last || program.Late()) break;
  }
  Say(program);
  return 0;
}

}  // namespace
}  // namespace torture

int main(int argc, char** argv) { return torture::Run(torture::ReadOptions(argc, argv)); }
