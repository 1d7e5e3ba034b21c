// Which programs the loader puts a preloaded library into, told by their files.
#include "tools/vramspan/program_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/tools/run_binary.h"

namespace vramspan::run {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
constexpr char kGlibc[] = "/lib64/ld-linux-x86-64.so.2";
#else
constexpr uint16_t kOwnMachine = EM_AARCH64;
constexpr char kGlibc[] = "/lib/ld-linux-aarch64.so.1";
#endif

class ProgramFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), 0755);
    return path;
  }
  // A program of which there is nothing but what says who loads it.
  static std::string Elf(const std::string& interpreter, uint16_t machine = kOwnMachine,
                         unsigned char width = ELFCLASS64) {
    Elf64_Ehdr header{};
    std::string_view(ELFMAG).copy(reinterpret_cast<char*>(header.e_ident), SELFMAG);
    header.e_ident[EI_CLASS] = width;
    header.e_machine = machine;
    header.e_type = ET_DYN;
    header.e_phoff = sizeof(header);
    header.e_phnum = interpreter.empty() ? 1 : 2;
    Elf64_Phdr segments[2]{};
    segments[0].p_type = PT_LOAD;
    segments[1].p_type = PT_INTERP;
    segments[1].p_offset = sizeof(header) + sizeof(segments);
    segments[1].p_filesz = interpreter.size() + 1;
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
           std::string(reinterpret_cast<const char*>(segments), sizeof(segments)) + interpreter +
           '\0';
  }

  const TemporaryFolder folder_;
};

TEST_F(ProgramFileTest, ProgramsForGlibcAreReached) {
  EXPECT_THAT(ReachOf("sh").why_not, IsEmpty());
  EXPECT_THAT(ReachOf(Write("glibc", Elf(kGlibc))).why_not, IsEmpty());
  EXPECT_THAT(ReachOf(kGlibc).why_not, IsEmpty()) << "it loads what it is given";
  EXPECT_THAT(ReachOf("no-such-program").why_not, IsEmpty());
}

TEST_F(ProgramFileTest, OthersAreNotAndItIsSaidWhy) {
  const Reach musl = ReachOf(Write("musl", Elf("/lib/ld-musl-x86_64.so.1")));
  EXPECT_EQ(musl.why_not, "is a program for musl");
  EXPECT_TRUE(musl.children);
  EXPECT_FALSE(musl.complains);
  const Reach linked = ReachOf(Write("static", Elf("")));
  EXPECT_EQ(linked.why_not, "is linked statically");
  EXPECT_TRUE(linked.children);
  const Reach narrow = ReachOf(Write("narrow", Elf("", EM_386, ELFCLASS32)));
  EXPECT_EQ(narrow.why_not, "is a 32-bit program");
  EXPECT_TRUE(narrow.complains);
  EXPECT_FALSE(narrow.children);
  EXPECT_EQ(ReachOf(Write("riscv", Elf(kGlibc, EM_RISCV))).why_not, "is for another machine");
}

TEST_F(ProgramFileTest, AProgramWithMoreRightsThanItsUser) {
  const std::string path = Write("setuid", Elf(kGlibc));
  chmod(path.c_str(), 04755);
  EXPECT_THAT(ReachOf(path).why_not, IsEmpty()) << "the user's own";
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
  chmod(path.c_str(), 04755);  // chown takes it.
  const Reach reach = ReachOf(path);
  EXPECT_EQ(reach.why_not, "has more rights than its user");
  EXPECT_FALSE(reach.children);
}

TEST_F(ProgramFileTest, ScriptsAreWhatRunsThem) {
  const std::string musl = Write("musl", Elf("/lib/ld-musl-x86_64.so.1"));
  const std::string why = "is run by " + musl + ", which is a program for musl";
  EXPECT_EQ(ReachOf(Write("script", "#!" + musl + " -x\n")).why_not, why);
  EXPECT_EQ(ReachOf(Write("spaced", "#! \t" + musl + "\n")).why_not, why);
  EXPECT_EQ(ReachOf(Write("by_script", "#!" + folder_.path() + "/script\n")).why_not, why);
  EXPECT_EQ(ReachOf(Write("by_env", "#!/usr/bin/env -S A=1 " + musl + " x\n")).why_not, why);
  EXPECT_THAT(ReachOf(Write("shell", "#!/bin/sh\n")).why_not, IsEmpty());
  EXPECT_THAT(ReachOf(Write("circle", "#!" + folder_.path() + "/circle\n")).why_not, IsEmpty());
}

TEST_F(ProgramFileTest, ShortAndBrokenFilesAreNotJudged) {
  const std::string elf = Elf(kGlibc);
  for (size_t size = 0; size < elf.size(); ++size) {
    ReachOf(Write("cut", elf.substr(0, size)));
  }
  for (const char* text : {"", "#!", "#!\n", "#! \n/bin/sh",
                           "\x7f"
                           "ELF",
                           "echo\n"}) {
    EXPECT_THAT(ReachOf(Write("odd", text)).why_not, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace vramspan::run
