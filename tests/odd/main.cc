// odd_programs [--seed N] [--programs N] [--overlap NAME] [--print]
//
// Runs odd programs, one for each seed from the first on. Exit code: 0, all was right; 1, a program
// went wrong, and stderr has its seed and its text; 2, the command line; 3, what the programs are
// to meet did not happen, in a hundred programs and more.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/log.h"
#include "tests/odd/program.h"

namespace {

struct Options {
  uint64_t seed = 1, programs = 1;
  std::string overlap = "auto";
  bool print = false;
};

Options ReadOptions(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--print") {
      o.print = true;
      continue;
    }
    if (word == "--seed") {
      o.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--programs") {
      o.programs = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--overlap") {
      o.overlap = value;
    } else {
      std::fprintf(stderr, "odd_programs: not understood: %s\n", word.c_str());
      std::exit(2);
    }
    ++i;
  }
  return o;
}

[[noreturn]] void Wrong(uint64_t seed, const std::vector<std::string>& log,
                        const std::string& failure) {
  for (const std::string& line : log) std::fprintf(stderr, "%s\n", line.c_str());
  std::fprintf(stderr, "odd_programs: --seed %llu: %s\n", static_cast<unsigned long long>(seed),
               failure.c_str());
  std::_Exit(1);
}

// Ends the process where a program does not end.
class Patience {
 public:
  explicit Patience(const std::vector<std::string>& log)
      : log_(log), thread_([this] { Watch(); }) {}
  ~Patience() {
    Next(0);
    thread_.join();
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  void Next(uint64_t seed) {  // 0: no more.
    const std::lock_guard<std::mutex> lock(mu_);
    seed_ = seed;
    wake_.notify_all();
  }

 private:
  void Watch() {
    std::unique_lock<std::mutex> lock(mu_);
    while (seed_ != 0) {
      const uint64_t seed = seed_;
      const auto moved = [&] { return seed_ != seed; };
      // Its log is at rest by then.
      if (!wake_.wait_for(lock, std::chrono::seconds(60), moved)) Wrong(seed, log_, "it hangs");
    }
  }

  const std::vector<std::string>& log_;
  std::mutex mu_;
  std::condition_variable wake_;
  uint64_t seed_ = ~uint64_t{0};
  std::thread thread_;
};

void RunOne(const odd::Machine& machine, uint64_t seed, std::vector<std::string>* log,
            odd::Met* met) {
  odd::Program program(machine, seed, log, met);
  try {
    program.Run();
  } catch (const odd::Failure& failure) {
    Wrong(seed, *log, failure.text);
  }
}

unsigned long long Of(uint64_t number) { return number; }

int Conclude(const odd::Met& met) {
  std::printf(
      "%llu programs, %llu steps, launches: %llu honest, %llu found, %llu listed, %llu drawn, %llu "
      "again, %llu graphs; %llu untried, %llu plausible, %llu proven\n",
      Of(met.programs), Of(met.steps), Of(met.launches[0]), Of(met.launches[1]),
      Of(met.launches[2]), Of(met.launches[3]), Of(met.again), Of(met.graphs), Of(met.untried),
      Of(met.plausible), Of(met.proven));
  std::printf(
      "%llu chunks unmapped when odd launches came, in %llu programs; %llu remaps beside proven "
      "launches; %llu evictions, %llu fetches\n",
      Of(met.unmapped), Of(met.before_unmapped), Of(met.beside), Of(met.evictions),
      Of(met.fetches));
  if (met.programs < 100) return 0;
  if (met.plausible == 0 && met.unmapped >= met.programs / 20 && met.beside >= met.programs / 20) {
    return 0;
  }
  std::fprintf(stderr, "odd_programs: too little moves for this to prove anything\n");
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ReadOptions(argc, argv);
  vramspan::SetLogThreshold(vramspan::LogLevel::kOff);
  std::vector<std::string> log;
  odd::Met met;
  uint64_t seed = options.seed;
  try {
    const odd::Machine machine(options.overlap);
    Patience patience(log);
    for (; seed < options.seed + options.programs; ++seed) {
      patience.Next(seed);
      log.clear();
      RunOne(machine, seed, &log, &met);
      if (!options.print) continue;
      for (const std::string& line : log) std::printf("%s\n", line.c_str());
    }
  } catch (const odd::Failure& failure) {
    Wrong(seed, log, failure.text);
  }
  return Conclude(met);
}
