#include "runtime/api/program_key.h"

#include <gmock/gmock.h>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Of files there is train.py, wherever the program was started, and one with data.
std::optional<std::string> PathOf(const std::string& name) {
  if (name == "train.py" || name == "./train.py") return "/home/ada/train.py";
  if (name == "data.bin") return "/data.bin";
  return std::nullopt;
}

uint64_t Hash(std::vector<std::string> arguments) {
  return KeyOf({.executable = "/usr/bin/python3", .arguments = std::move(arguments)}, {}, &PathOf)
      .hash;
}

TEST(ProgramKey, ValuesMayChangeAndTheScriptMayNot) {
  EXPECT_EQ(Hash({"train.py", "--steps", "3", "-5"}), Hash({"./train.py", "--steps", "4", "-6"}));
  EXPECT_EQ(Hash({"train.py", "--lr=0.1"}), Hash({"train.py", "--lr=0.2"}));
  EXPECT_EQ(Hash({"-m", "a.train", "x"}), Hash({"-m", "a.train", "y"}));
  EXPECT_EQ(Hash({"-c", "work(fd=5)"}), Hash({"-c", "work(fd=17)"}));
  EXPECT_NE(Hash({"-m", "a.train"}), Hash({"-m", "a.test"}));
  EXPECT_NE(Hash({"-c", "work()"}), Hash({"-c", "play()"}));
  EXPECT_NE(Hash({"train.py"}), Hash({"data.bin"}));
  EXPECT_NE(Hash({"train.py", "--steps", "3"}), Hash({"train.py", "--epochs", "3"}));
  EXPECT_NE(Hash({"train.py", "3"}), Hash({"train.py"}));
  // Words do not run into one another.
  EXPECT_NE(Hash({"-ab"}), Hash({"-a", "-b"}));
}

TEST(ProgramKey, OnlyTheFirstFileIsTheScript) {
  EXPECT_THAT(ArgumentShape({"-u", "train.py", "data.bin", "-m", "x", "--o=1", "-", ""}, &PathOf),
              ElementsAre("-u", "/home/ada/train.py", "_", "-m", "_", "--o", "_", "_"));
}

TEST(ProgramKey, WhatItRunsOnIsPartOfIt) {
  const RunningProgram program = {.executable = "/bin/a", .size = 5, .seconds = 7};
  const RunningOn on = {.device = "GPU", .ordinal = 0, .driver = 13000};
  const uint64_t hash = KeyOf(program, on, &PathOf).hash;
  RunningProgram rebuilt = program;
  rebuilt.nanoseconds = 1;
  EXPECT_NE(KeyOf(rebuilt, on, &PathOf).hash, hash);
  rebuilt = program;
  rebuilt.size = 6;
  EXPECT_NE(KeyOf(rebuilt, on, &PathOf).hash, hash);
  RunningOn other = on;
  other.ordinal = 1;
  EXPECT_NE(KeyOf(program, other, &PathOf).hash, hash);
  other = on;
  other.driver = 13010;
  EXPECT_NE(KeyOf(program, other, &PathOf).hash, hash);
  other = on;
  other.device = "GPU 2";
  EXPECT_NE(KeyOf(program, other, &PathOf).hash, hash);
}

TEST(ProgramKey, SaysNoValuesInWords) {
  const ProgramKey key = KeyOf({.executable = "/bin/a", .arguments = {"-c", "secret", "--token=s"}},
                               {.device = "GPU", .driver = 13000}, &PathOf);
  EXPECT_EQ(key.program, "/bin/a -c _ --token");
  EXPECT_THAT(key.device, HasSubstr("GPU, GPU 0, driver 13000, vramspan 0."));
}

TEST(ProgramKey, ThisProcessIsFound) {
  const RunningProgram program = OwnProgram();
  EXPECT_THAT(program.executable, HasSubstr("/learned_test"));
  EXPECT_GT(program.size, 0u);
  EXPECT_EQ(PathOfFile(program.executable), program.executable);
  EXPECT_EQ(PathOfFile("/"), std::nullopt);
  EXPECT_EQ(PathOfFile("/no/such"), std::nullopt);
}

}  // namespace
}  // namespace vramspan
