#include "tools/replay/profile.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"
#include "tools/replay/explain.h"
#include "tools/replay/program_name.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Profile Sample() {
  return {.program = "/opt/bin/train.py --name 'a\nb\\c' \xc3\xa9",
          .device = "NVIDIA H100 80GB HBM3",
          .device_uuid = "GPU-1234",
          .device_memory = GiB(8),
          .policy = "cycle",
          .chunk_log2 = 24,
          .overlap = ReplayOverlap::kSafe,
          .predicted_ms = 12.5,
          .default_ms = 14.25,
          .resident_ms = 10,
          .pins = {{MiB(8), 3}, {Bytes(20'000'001), 1}},
          .kernels = {{"gemm<float, 128>(float*, int)", 0xfedcba9876543210, 1.25, 33.5},
                      {"", 0, 79, 0.125}}};
}

Status Parsed(const std::string& text) { return ParseProfile(text).status(); }

TEST(Profile, ComesBackAsItWasWritten) {
  const StatusOr<Profile> read = ParseProfile(ProfileText(Sample()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Sample());
  Profile empty;
  empty.policy = "lru";
  EXPECT_EQ(ParseProfile(ProfileText(empty)).value(), empty);
}

TEST(Profile, ThatIsTooLongIsCutToWhatIsRead) {
  Profile profile = Sample();
  profile.program = std::string(5000, '\n');
  profile.device_memory = GiB(100);
  for (uint32_t i = 1; i < 1000; ++i) profile.pins.push_back({MiB(2), i});
  // The longest names that are kept; each of their characters is four in the text.
  profile.kernels.assign(2000, {std::string(225, '\1'), 1, 1e9, 1});
  const std::string text = ProfileText(profile);
  EXPECT_LE(text.size(), kMostProfileText);
  const StatusOr<Profile> read = ParseProfile(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kernels.size(), kMostProfileKernels);
  EXPECT_EQ(read->pins.size(), kMostPins);
}

// A kernel is found again by its name, so that is whole or not there.
TEST(Profile, KernelsKeepTheirLongNamesWhole) {
  Profile profile = Sample();
  const ProfileKernel longest = {std::string(900, 'k'), 1, 2, 3};
  const ProfileKernel last = {"last", 4, 5, 6};
  profile.kernels = {longest, {std::string(901, 'k'), 1, 2, 3}, last};
  const StatusOr<Profile> read = ParseProfile(ProfileText(profile));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kernels, (std::vector<ProfileKernel>{longest, last}));
}

TEST(Profile, EveryWrongLineIsNamed) {
  const std::string good = ProfileText(Sample());
  ASSERT_TRUE(Parsed(good).ok());
  const struct {
    const char* from;
    const char* to;
    const char* words;
  } cases[] = {
      {"vramspan-profile 2", "{", "vramspan tune"},
      {"program=", "programme=", "line 2 should begin with 'program='"},
      {"device=", "", "line 3"},
      {"b\\\\c", "b\\qc", "line 2 has a bad escape"},
      {"device_memory=", "device_memory=-", "line 5 should be a number of bytes"},
      {"policy=cycle", "policy=best", "line 6 names no policy"},
      {"policy=cycle", "policy=min", "line 6 names no policy"},
      {"chunk=16MiB", "chunk=17MiB", "line 7 should be auto or a size"},
      {"overlap=safe", "overlap=some", "line 8 should be auto, off, proven, safe"},
      {"predicted_ms=12.5", "predicted_ms=nan", "line 9 should be a number"},
      {"default_ms=14.25", "default_ms=1e3", "line 10 should be a number"},
      {"resident_ms=10", "resident_ms=99999999999999", "line 11 should be a number"},
      {"keep=8388608 3", "keep=1048576 3", "line 12 should keep an allocation of"},
      {"keep=8388608 3", "keep=17592186044417 3", "line 12 should keep an allocation of"},
      {"keep=8388608 3", "keep=8388608", "line 12 should say which allocation"},
      {"keep=8388608 3", "keep=8388608 0", "line 12 should say which allocation"},
      {"keep=8388608 3", "keep=8388608 1000001", "line 12 should say which allocation"},
      {"keep=20000001 1", "keep=8388608 3", "line 13 keeps allocation 3 of 8388608 bytes a second"},
      {"device_memory=8589934592", "device_memory=40000000",
       "line 13 would keep 29360128 bytes on the device in all"},
      {"keep=8388608 3", "keep=4294967297 3", "line 12 would keep 4297064448 bytes"},
      {"keep=8388608 3", "keeps=8388608 3", "line 12 should begin with 'kernel='"},
      {"vramspan-profile 2", "vramspan-profile 1", "line 12 should begin with 'kernel='"},
      {"kernel=1.25", "kernel=x", "line 14 should be a number"},
      {" fedc", " FEDC", "line 14 should have a shape"},
      {"kernel=1.250 33.500", "kernel=1.250", "line 14 should"},
      {"kernel=79", "colonel=79", "line 15 should begin with 'kernel='"},
  };
  for (const auto& c : cases) {
    const Status status = Parsed(absl::StrReplaceAll(good, {{c.from, c.to}}));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.to << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.words)) << c.to;
  }
  // Cut anywhere but at the end of a pin's or a kernel's line, or with something behind it.
  for (size_t size = 0; size < good.size(); ++size) {
    const bool whole = size > good.find("resident_ms") && good[size - 1] == '\n';
    EXPECT_EQ(Parsed(good.substr(0, size)).ok(), whole) << size;
  }
  EXPECT_FALSE(Parsed(good + "x").ok());
  EXPECT_FALSE(Parsed(good + "\n").ok());
  EXPECT_FALSE(Parsed(good + std::string(kMostProfileText, 'x')).ok());
}

TEST(Profile, TheVersionBeforeIsStillRead) {
  Profile sample = Sample();
  sample.pins.clear();
  const StatusOr<Profile> read = ParseProfile(
      absl::StrReplaceAll(ProfileText(sample), {{"vramspan-profile 2", "vramspan-profile 1"}}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, sample);
}

TEST(Profile, AnotherVersionSaysToTuneAgain) {
  const Status status = Parsed(
      absl::StrReplaceAll(ProfileText(Sample()), {{"vramspan-profile 2", "vramspan-profile 3"}}));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("tune again"));
}

TEST(Profile, IsForItsProgramAndDevice) {
  const Profile p = Sample();
  EXPECT_TRUE(CheckProfile(p, "/elsewhere/train.py --other", "GPU-1234").ok());
  EXPECT_TRUE(CheckProfile(p, "", "").ok());
  const Status program = CheckProfile(p, "infer.py", "GPU-1234");
  EXPECT_TRUE(absl::IsFailedPrecondition(program));
  EXPECT_THAT(std::string(program.message()), AllOf(HasSubstr("train.py"), HasSubstr("infer.py")));
  const Status device = CheckProfile(p, "train.py", "GPU-5678");
  EXPECT_TRUE(absl::IsFailedPrecondition(device));
  EXPECT_THAT(std::string(device.message()), AllOf(HasSubstr("GPU-1234"), HasSubstr("GPU-5678")));
}

TEST(Profile, OfAnInterpreterIsForItsScript) {
  const struct {
    const char* command;
    const char* name;
  } names[] = {
      {"./train --steps 3", "train"},
      {"/usr/bin/python3.11 -u src/train.py --model python", "train.py"},
      {"python3 -W ignore -X dev -O train.py", "train.py"},
      {"python3 -um pkg.train --steps 3", "pkg.train"},
      {"python3 -m pkg.train", "pkg.train"},
      {"python3 -c import", "python"},
      {"python -Xdev -- train.py", "train.py"},
      {"python3", "python"},
      {"python3 --version", "python"},
      {"bash -e run.sh", "run.sh"},
      {"sh -c true", "sh"},
      {"julia -t 4 train.jl", "train.jl"},
      {"/opt/train3", "train3"},
      {"", ""},
  };
  for (const auto& n : names) EXPECT_EQ(NameOfProgram(n.command).text(), n.name) << n.command;
  Profile p = Sample();
  p.program = "/usr/bin/python3 -u " + std::string(300, 'd') + "/train.py --steps 3";
  p.program = ParseProfile(ProfileText(p))->program;
  EXPECT_TRUE(CheckProfile(p, "python3.12 train.py --steps 4", "").ok());
  EXPECT_TRUE(CheckProfile(p, "./train.py", "").ok()) << "started by itself";
  for (const char* other :
       {"python3 infer.py", "python3", "python3 -m train", "python3 -c train.py"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckProfile(p, other, ""))) << other;
  }
}

class TuneCommandTest : public ::testing::Test {
 protected:
  Output Tune(const std::string& arguments) {
    return RunBinary("", "tune -o '" + path_ + "' " + arguments);
  }

  // What a replay of the trace says of the profile's settings, in milliseconds.
  static double Replayed(const std::string& trace, const Profile& profile) {
    const std::string chunk = profile.chunk_log2 == 0
                                  ? "auto"
                                  : absl::StrCat(uint64_t{1} << (profile.chunk_log2 - 20), "MiB");
    const Output replay = RunBinary(
        "", absl::StrCat("replay ", trace, " --format json --overlap ",
                         OverlapName(profile.overlap), " --policy ", profile.policy,
                         " --device-memory ", profile.device_memory.value, " --chunk ", chunk,
                         profile.pins.empty() ? "" : " --keep " + PinsText(profile.pins)));
    EXPECT_EQ(replay.code, 0) << replay.err;
    if (replay.code != 0) return 0;
    return nlohmann::json::parse(replay.out).at("runs")[0].at("predicted_ms");
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/a.profile";
};

constexpr char kTunedLoop[] = "synthetic:loop,layers=16,passes=8,mib=16,us=500,lead=500 ";

TEST_F(TuneCommandTest, WritesAProfileOfTheBestAndSaysHowToUseIt) {
  const Output tune = Tune(std::string(kTunedLoop) + "--device-memory 50% --overlap off,safe");
  ASSERT_EQ(tune.code, 0) << tune.err;
  EXPECT_THAT(tune.out, AllOf(HasSubstr("chosen "), HasSubstr("default "),
                              HasSubstr("vramspan run --device-memory 134217728 --profile")));
  const StatusOr<Profile> profile = ReadProfile(path_);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->device_memory, MiB(128));
  EXPECT_EQ(profile->overlap, ReplayOverlap::kSafe) << "moves beside work cost less";
  EXPECT_LT(profile->predicted_ms, profile->default_ms);
  EXPECT_LE(profile->resident_ms, profile->predicted_ms);
  EXPECT_NEAR(Replayed(kTunedLoop, *profile), profile->predicted_ms, 0.001);
}

// A loop of twice the device memory: what leaves is always needed again, so that part of it had
// better stay.
TEST_F(TuneCommandTest, KeepsWhatPaysToBeKept) {
  // So short that no policy has settled yet, or they would keep it as well.
  constexpr char kShort[] = "synthetic:loop,layers=12,passes=6,mib=16,us=100 ";
  const Output tune = Tune(std::string(kShort) + "--device-memory 50%");
  ASSERT_EQ(tune.code, 0) << tune.err;
  const StatusOr<Profile> profile = ReadProfile(path_);
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_FALSE(profile->pins.empty());
  Bytes kept;
  for (const Pin& pin : profile->pins) {
    EXPECT_EQ(pin.size, MiB(16));
    kept += pin.charged();
  }
  EXPECT_LE(kept, MiB(48)) << "half of the device memory";
  EXPECT_THAT(tune.out, HasSubstr(absl::StrCat(kept.value >> 20, " MiB")));
  // By the same reckoning the profile without them is slower.
  EXPECT_NEAR(Replayed(kShort, *profile), profile->predicted_ms, 0.001);
  Profile without = *profile;
  without.pins.clear();
  EXPECT_GT(Replayed(kShort, without), 1.01 * profile->predicted_ms);
}

TEST_F(TuneCommandTest, KeepsNothingWhereItDoesNotPay) {
  constexpr char kRandom[] = "synthetic:random,works=400 ";
  const Output tune = Tune(std::string(kRandom) + "--device-memory 50%");
  ASSERT_EQ(tune.code, 0) << tune.err;
  const StatusOr<Profile> profile = ReadProfile(path_);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_THAT(profile->pins, IsEmpty());
}

// Live runs with them are slower than their replays: not for a few hundredths.
TEST_F(TuneCommandTest, TakesOtherChunksOnlyForATenth) {
  for (const char* trace : {"gemm-chain", "sweep", "bfs"}) {
    const Output tune = Tune(absl::StrCat("'" VRAMSPAN_TRACES "/", trace,
                                          ".vramspan' --device-memory 25% --overlap safe --force"));
    ASSERT_EQ(tune.code, 0) << tune.err;
    const StatusOr<Profile> profile = ReadProfile(path_);
    ASSERT_TRUE(profile.ok()) << profile.status();
    // The best candidate has them, by less.
    EXPECT_THAT(tune.out, ContainsRegex("1[.] .* MiB +safe")) << trace;
    EXPECT_EQ(profile->chunk_log2, 0) << tune.out;
  }
}

// Of a trace in another format nobody can tell which allocation of the program is meant.
TEST_F(TuneCommandTest, KeepsNothingThatCannotBeTold) {
  const Output tune = Tune("'" VRAMSPAN_TRACES "/training-step.et.json.gz' --device-memory 50%");
  ASSERT_EQ(tune.code, 0) << tune.err;
  const StatusOr<Profile> profile = ReadProfile(path_);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_THAT(profile->pins, IsEmpty());
  EXPECT_THAT(tune.out, Not(ContainsRegex("off +[0-9]+ MiB")));
}

TEST_F(TuneCommandTest, LeavesTheDefaultWhereNothingIsBetter) {
  const Output tune = Tune(std::string(kTunedLoop) + "--device-memory 100%");
  ASSERT_EQ(tune.code, 0) << tune.err;
  const StatusOr<Profile> profile = ReadProfile(path_);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->policy, "cost");
  EXPECT_EQ(profile->chunk_log2, 0);
  EXPECT_EQ(profile->overlap, ReplayOverlap::kAuto);
}

TEST_F(TuneCommandTest, OverwritesOnlyWhenTold) {
  std::ofstream(path_) << "mine";
  const std::string asked = std::string(kTunedLoop) + "--device-memory 50% ";
  const Output refused = Tune(asked);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(path_), HasSubstr("--force")));
  EXPECT_EQ(ReadText(path_), "mine");
  EXPECT_EQ(Tune(asked + "--force").code, 0);
  EXPECT_TRUE(ReadProfile(path_).ok());
}

TEST_F(TuneCommandTest, ForcedItStillLeavesTheTrace) {
  std::filesystem::copy_file(VRAMSPAN_TRACES "/sweep.vramspan", path_);
  const std::string before = ReadText(path_);
  const Output tune = Tune("--force --device-memory 50% '" + path_ + "'");
  EXPECT_EQ(tune.code, 1);
  EXPECT_THAT(tune.err,
              HasSubstr(path_ + ": the file is also what is read; write to another file"));
  EXPECT_EQ(ReadText(path_), before);
}

TEST_F(TuneCommandTest, ThePathInTheCommandIsOneWordOfAShell) {
  const std::string path = path_ + " of $HOME's";
  const Output tune = RunBinary("", "tune " + std::string(kTunedLoop) +
                                        "--device-memory 50% -o \"" + path_ + " of \\$HOME's\"");
  EXPECT_EQ(tune.code, 0) << tune.err;
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_THAT(tune.out, HasSubstr(" --profile '" + path_ + " of $HOME'\\''s' -- "));
  EXPECT_THAT(Tune(std::string(kTunedLoop) + "--device-memory 50%").out,
              HasSubstr(" --profile " + path_ + " -- "));
}

TEST_F(TuneCommandTest, MistakesExitWithTwo) {
  for (const char* arguments :
       {"", "--device-memory 0", "--device-memory 120%", "--overlap some --device-memory 50%",
        "--overlap off,declared --device-memory 50%", "--nonsense"}) {
    const Output tune = Tune(kTunedLoop + std::string(arguments));
    EXPECT_EQ(tune.code, 2) << arguments << tune.err;
    EXPECT_EQ(tune.out, "");
  }
  EXPECT_EQ(Tune("synthetic:spiral --device-memory 50%").code, 2);
  EXPECT_EQ(Tune("/nowhere/trace --device-memory 50%").code, 1);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace vramspan::replay
