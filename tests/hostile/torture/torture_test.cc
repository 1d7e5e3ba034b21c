// The torture under `vramspan run`. The seed is 1, in --nightly (VRAMSPAN_NIGHTLY) the date, and
// VRAMSPAN_TORTURE_SEED where that is set; VRAMSPAN_TORTURE_SECONDS is how long each run takes.
// Seeds that once found something are in seeds.tsv, and are repeated each time.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct TortureRun {
  std::string seed;
  std::string
      options;  // Of `vramspan run`, behind what the shell is told: "SIMCUDA_…=… --overlap safe".
  std::string arguments;  // Of the torture.
};

void PrintTo(const TortureRun& run, std::ostream* out) {
  *out << run.options << " -- " << run.arguments;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void Expect(const TortureRun& run) {
  // A sanitizer's runtime does not live with children that go on.
  const std::string command =
      "unset VRAMSPAN_DRIVER VRAMSPAN_TRACER; export LD_LIBRARY_PATH='" SIMCUDA_FOLDER
      "' SIMCUDA_DEVICE_MEMORY=256MiB ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0; "
      "exec timeout -s KILL 1500 '" VRAMSPAN_BINARY "' run --quiet " +
      run.options + " -- '" TORTURE_PROGRAM "' --beside libvramspan_preload --lax --seed " +
      run.seed + " " + run.arguments + (kSanitized ? " --no-forks" : "");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "a line for tests/hostile/torture/seeds.tsv:\n"
      << run.seed << "\t" << run.options << "\t" << run.arguments << "\t(what it was)";
}

std::string Seed() {
  if (const char* seed = std::getenv("VRAMSPAN_TORTURE_SEED")) return seed;
  if (std::getenv("VRAMSPAN_NIGHTLY") == nullptr) return "1";
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y%m%d", std::gmtime(&now));
  return date;
}

std::string Seconds() {
  if (const char* seconds = std::getenv("VRAMSPAN_TORTURE_SECONDS")) return seconds;
  return std::getenv("VRAMSPAN_NIGHTLY") != nullptr ? "300" : "2";
}

class Torture : public testing::TestWithParam<TortureRun> {};

TEST_P(Torture, AllWordsAreRight) {
  TortureRun run = GetParam();
  run.seed = Seed();
  run.arguments += " --seconds " + Seconds();
  Expect(run);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Torture,
    testing::Values(TortureRun{"", "--device-memory 48MiB", ""},
                    TortureRun{"", "--device-memory 48MiB --overlap safe", "--slow"},
                    // A host budget that runs out.
                    TortureRun{"", "--device-memory 32MiB --host-memory 64MiB --overlap safe", ""},
                    TortureRun{"", "--device-memory 24MiB --chunk 2MiB", "--slow --threads 8"},
                    TortureRun{"", "--device-memory 48MiB", "--failing --no-resets"}),
    [](const testing::TestParamInfo<TortureRun>& run) {
      return "Way" + std::to_string(run.index);
    });

// seed, options of `vramspan run`, arguments of the torture, and what it found; # begins a comment.
std::vector<TortureRun> KeptSeeds() {
  std::vector<TortureRun> runs;
  std::ifstream file(TORTURE_SEEDS);
  EXPECT_TRUE(file.is_open()) << TORTURE_SEEDS;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    TortureRun run;
    std::getline(fields, run.seed, '\t');
    std::getline(fields, run.options, '\t');
    std::getline(fields, run.arguments, '\t');
    runs.push_back(run);
  }
  return runs;
}

TEST(TortureSeeds, FoundNothingAgain) {
  for (const TortureRun& run : KeptSeeds()) {
    SCOPED_TRACE(run.seed + " " + run.options + " " + run.arguments);
    Expect(run);
  }
}

}  // namespace
