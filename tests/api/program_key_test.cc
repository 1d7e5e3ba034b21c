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
  if (name == "data.bin" || name == "out.bin") return "/" + name;
  return std::nullopt;
}

constexpr char kPython[] = "/usr/bin/python3.12";

uint64_t Hash(std::vector<std::string> arguments, const std::string& executable = kPython) {
  return KeyOf({.executable = executable, .arguments = std::move(arguments)}, {}, &PathOf).hash;
}

std::string Shown(std::vector<std::string> arguments, const std::string& executable) {
  return KeyOf({.executable = executable, .arguments = std::move(arguments)}, {}, &PathOf).program;
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
  const ArgumentShape shape = ShapeOf(
      {.executable = kPython,
       .arguments = {"-u", "train.py", "data.bin", "-m", "x", "--o=1", "-", "", "-c", "data.bin"}},
      &PathOf);
  EXPECT_THAT(shape.counts,
              ElementsAre("-u", "/home/ada/train.py", "_", "-m", "_", "--o", "_", "_", "-c", "_"));
  EXPECT_EQ(shape.shown, shape.counts);
}

// What python has of its own is behind these, and stands in one word with other letters.
TEST(ProgramKey, KnowsPythonsOptions) {
  for (const char* c : {"-uc", "-c", "-Ic"}) {
    EXPECT_NE(Hash({c, "work()"}), Hash({c, "play()"})) << c;
    EXPECT_NE(Hash({c + std::string("work()")}), Hash({c + std::string("play()")})) << c;
  }
  EXPECT_NE(Hash({"-uma.train"}), Hash({"-uma.test"}));
  EXPECT_EQ(Hash({"-W", "data.bin", "train.py"}), Hash({"-W", "ignore", "train.py"}));
  EXPECT_NE(Hash({"-X", "dev", "train.py"}), Hash({"-X", "dev", "data.bin"}));
  EXPECT_EQ(Shown({"-uX", "dev", "-ma.train", "-m", "hunter2", "-c5"}, kPython),
            std::string(kPython) + " -uX _ -m a.train -m _ -c_");
}

// It is there from the second run on.
TEST(ProgramKey, AFileThatAnOptionNamesIsNoScript) {
  EXPECT_EQ(Hash({"--out", "new.bin", "data.bin"}, "/bin/a"),
            Hash({"--out", "out.bin", "data.bin"}, "/bin/a"));
  EXPECT_NE(Hash({"--verbose=1", "data.bin"}, "/bin/a"),
            Hash({"--verbose=1", "out.bin"}, "/bin/a"));
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
  EXPECT_EQ(
      Shown({"-m", "hunter2", "--key", "data.bin", "-phunter2", "-p=5", "data.bin"}, "/bin/a"),
      "/bin/a -m _ --key _ -p_ -p /data.bin");
  EXPECT_EQ(Shown({"-c", "secret"}, kPython), std::string(kPython) + " -c _");
  const RunningProgram whole = {.executable = "/bin/a", .arguments = {"data.bin", "--o"}};
  RunningProgram bare = whole;
  bare.name_alone = true;
  EXPECT_EQ(KeyOf(bare, {}, &PathOf).program, "/bin/a");
  EXPECT_EQ(KeyOf(bare, {}, &PathOf).hash, KeyOf(whole, {}, &PathOf).hash);
  EXPECT_THAT(key.device, HasSubstr("GPU, GPU 0, driver 13000, vramspan 0."));
}

TEST(ProgramKey, ThisProcessIsFound) {
  const RunningProgram program = OwnProgram();
  EXPECT_THAT(program.executable, HasSubstr("/learned_test"));
  EXPECT_GT(program.size, 0u);
  EXPECT_EQ(PathOfFile(program.executable), program.executable);
  EXPECT_EQ(PathOfFile("/"), std::nullopt);
  EXPECT_EQ(PathOfFile("/no/such"), std::nullopt);
  EXPECT_FALSE(program.name_alone);
  for (const char* text : {"yes", "perhaps"}) {
    setenv("VRAMSPAN_NO_COMMAND_LINE", text, 1);
    EXPECT_TRUE(OwnProgram().name_alone) << text;
  }
  unsetenv("VRAMSPAN_NO_COMMAND_LINE");
}

}  // namespace
}  // namespace vramspan
