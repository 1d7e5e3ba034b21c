// The reader's process: what is asked by hand is answered, with a disassembler that is a script.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/observe/image_hash.h"
#include "tests/prove/fake_nvdisasm.h"
#include "tests/prove/made_images.h"
#include "tests/tools/run_binary.h"
#include "tools/prove/fat_format.h"

namespace vramspan::reader {
namespace {

namespace fs = std::filesystem;
using prove::FatEntry;
using prove::MadeCubin;
using prove::MadeFat;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

// Shows each kernel of the file as one that ends at once; of those called bad, and of all beside
// one that is called poison, nobody understands the code.
constexpr char kShows[] = R"sh(
printf x >>"$CALLS"
for file; do :; done
printf '\t.target\tsm_90\n'
names=$(strings -n 1 "$file" | grep '^kernel' | sort -u)
for kernel in $names; do
  printf '\t.section\t.text.%s,"ax",@progbits\n' "$kernel"
  printf '\t.other\t%s,@"STO_CUDA_ENTRY STV_DEFAULT"\n' "$kernel"
  printf '.text.%s:\n' "$kernel"
  case "$kernel $names" in *bad*' '*|*poison*) printf 'nonsense\n' ;; esac
  printf '        /*0000*/                   EXIT ;\n'
done)sh";

template <typename Condition>
bool Comes(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    folder_.Program("bin/python3", "exit 0");
    Disassembler(kShows);
    Begin();
  }
  ~ReaderTest() override { End(); }

  void Disassembler(const std::string& script) { folder_.Program("bin/nvdisasm", script); }
  // A program with a folder, and a reader beside it. `first` is what that does first.
  void Begin(void (*first)() = nullptr) {
    fs::create_directory(meet_);
    fs::permissions(meet_, fs::perms::owner_all);
    for (const char* const name : {"/asked", "/answers"}) {
      const int fd = open((meet_ + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      ASSERT_GE(fd, 0);
      close(fd);
    }
    program_ = fork();
    if (program_ == 0) {
      for (;;) pause();
    }
    reader_ = fork();
    if (reader_ == 0) {
      setenv("PATH", (folder_.path() + "/bin:/usr/bin:/bin").c_str(), 1);
      setenv("CALLS", (folder_.path() + "/calls").c_str(), 1);
      setenv("XDG_CACHE_HOME", (folder_.path() + "/cache").c_str(), 1);
      const std::string program = std::to_string(program_);
      if (first != nullptr) first();
      execl(VRAMSPAN_BINARY, "vramspan", "answer-readings", meet_.c_str(), program.c_str(),
            nullptr);
      _exit(99);
    }
  }
  // The program ends, and so does the reader.
  void End() {
    if (program_ > 0) {
      kill(program_, SIGKILL);
      waitpid(program_, nullptr, 0);
    }
    if (reader_ > 0) {
      EXPECT_TRUE(ReaderEnds());
    }
    program_ = reader_ = 0;
  }
  bool ReaderEnds() const {
    return Comes([this] { return waitpid(reader_, nullptr, WNOHANG) == reader_; });
  }

  // Has the image there, and says what it is called by.
  std::string Put(const std::string& image) const {
    const std::string hash = absl::StrCat(absl::Hex(HashOfImage(image.data()), absl::kZeroPad16));
    PutAs(hash, image);
    return hash;
  }
  void PutAs(const std::string& hash, const std::string& image) const {
    folder_.File("half", image);
    fs::create_directory(fs::path(meet_));
    fs::rename(folder_.path() + "/half", meet_ + "/" + hash + ".image");
  }
  void Write(const std::string& lines) const {
    const int fd = open((meet_ + "/asked").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSERT_EQ(write(fd, lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    close(fd);
  }
  void Ask(const std::string& hash, const std::vector<std::string>& kernels, int gpu = 90) const {
    for (const std::string& kernel : kernels) {
      Write(absl::StrCat("ask ", gpu, " ", hash, " ", kernel, "\n"));
    }
  }
  // So many lines, in order of the alphabet, without the GPU and the hash.
  std::vector<std::string> Answers(size_t count) const {
    std::vector<std::string> lines;
    EXPECT_TRUE(Comes([&] {
      lines = absl::StrSplit(ReadText(meet_ + "/answers"), '\n', absl::SkipEmpty());
      return lines.size() >= count;
    })) << lines.size();
    for (std::string& line : lines) {
      line.erase(0, line.find(' ') + 1);
      line.erase(line.find(' '), 17);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  size_t Calls() const { return ReadText(folder_.path() + "/calls").size(); }
  std::vector<std::string> Kept() const {
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& entry :
         fs::directory_iterator(folder_.path() + "/cache/vramspan/read", none)) {
      files.push_back(ReadText(entry.path().string()));
    }
    return files;
  }

  const prove::FolderOfPrograms folder_;
  const std::string meet_ = folder_.path() + "/reading-0-1-0-x";
  pid_t program_ = 0, reader_ = 0;
};

TEST_F(ReaderTest, AnswersWhatIsAsked) {
  const std::string hash = Put(MadeFat({{.code = MadeCubin(90, {"kernel_a", "kernel_bad"})}}));
  Ask(hash, {"kernel_a", "kernel_bad", "kernel_none", "kernel_a"});
  EXPECT_THAT(Answers(4), ElementsAre("read kernel_a", "read kernel_a", "unread kernel_bad",
                                      "unread kernel_none"));
  const std::string cubin = Put(MadeCubin(90, {"kernel_c"}));
  Ask(cubin, {"kernel_c"});
  EXPECT_EQ(Answers(5)[2], "read kernel_c");
}

// Each run of the disassembler waits for the other.
TEST_F(ReaderTest, TwoImagesAreReadAtOnce) {
  Disassembler(absl::StrCat(R"sh(
printf x >>"$CALLS.begun"
for i in $(seq 600); do
  [ "$(wc -c <"$CALLS.begun")" -ge 2 ] && break
  sleep 0.1
done
[ "$(wc -c <"$CALLS.begun")" -ge 2 ] || exit 1
)sh",
                            kShows));
  Ask(Put(MadeCubin(90, {"kernel_a"})), {"kernel_a"});
  Ask(Put(MadeCubin(90, {"kernel_b"})), {"kernel_b"});
  EXPECT_THAT(Answers(2), ElementsAre("read kernel_a", "read kernel_b"));
}

TEST_F(ReaderTest, TheNextProgramHasThemAtOnce) {
  const std::string image = MadeFat({{.code = MadeCubin(90, {"kernel_a", "kernel_bad"})}});
  Ask(Put(image), {"kernel_a", "kernel_bad", "kernel_none"});
  Answers(3);
  const size_t calls = Calls();
  EXPECT_GE(calls, 1u);
  Ask(Put(image), {"kernel_a"});
  Answers(4);
  EXPECT_EQ(Calls(), calls) << "nor does this one need it again";
  End();
  Begin();
  Ask(Put(image), {"kernel_bad", "kernel_a", "kernel_none"});
  EXPECT_THAT(Answers(3), ElementsAre("read kernel_a", "unread kernel_bad", "unread kernel_none"));
  EXPECT_EQ(Calls(), calls);
}

// It may have said what another does not.
TEST_F(ReaderTest, WhatAnotherDisassemblerSaidIsNotUsed) {
  const std::string image = MadeFat({{.code = MadeCubin(90, {"kernel_a"})}});
  Ask(Put(image), {"kernel_a"});
  Answers(1);
  const size_t calls = Calls();
  End();
  Disassembler(std::string(kShows) + "\n# another");
  Begin();
  Ask(Put(image), {"kernel_a"});
  EXPECT_THAT(Answers(1), ElementsAre("read kernel_a"));
  EXPECT_GT(Calls(), calls);
  End();
  fs::remove(folder_.path() + "/bin/nvdisasm");
  Begin();
  Ask(Put(image), {"kernel_a"});
  EXPECT_THAT(Answers(1), ElementsAre("unread kernel_a")) << "without any";
}

// No code of the script's is proven on condition, so what it kept is edited.
TEST_F(ReaderTest, WhatIsKeptOnConditionIsAnsweredSo) {
  const std::string image = MadeFat({{.code = MadeCubin(90, {"kernel_a"})}});
  const std::string hash = Put(image);
  Ask(hash, {"kernel_a"});
  Answers(1);
  End();
  ASSERT_EQ(Kept().size(), 1u);
  const auto file = fs::directory_iterator(folder_.path() + "/cache/vramspan/read")->path();
  std::string text = ReadText(file.string());
  text.insert(text.find("\nread ") + 5, "-when 1c:4-2");
  std::ofstream(file.string()) << text;
  const size_t calls = Calls();
  Begin();
  Ask(Put(image), {"kernel_a"});
  ASSERT_TRUE(Comes([&] { return !ReadText(meet_ + "/answers").empty(); }));
  EXPECT_EQ(ReadText(meet_ + "/answers"), "90 read-when 1c:4-2 " + hash + " kernel_a\n");
  EXPECT_EQ(Calls(), calls);
}

// A program that is short of memory is not what is ended.
TEST_F(ReaderTest, ItGoesFirstWhereMemoryIsShort) {
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_a"})}})), {"kernel_a"});
  Answers(1);
  EXPECT_EQ(ReadText(absl::StrCat("/proc/", reader_, "/oom_score_adj")), "1000\n");
}

// The text is a part of what it is, so it says nothing for good.
TEST_F(ReaderTest, WhatADisassemblerCutIsNotKept) {
  Disassembler(std::string(kShows) +
               "\ntrap '' XFSZ; head -c 270000000 /dev/zero 2>/dev/null; exit 0");
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_a", "kernel_bad"})}})), {"kernel_bad"});
  EXPECT_THAT(Answers(1), ElementsAre("unread kernel_bad"));
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(ReaderTest, LinesOfStrangersArePassedOver) {
  const std::string hash = Put(MadeFat({{.code = MadeCubin(90, {"kernel_a"})}}));
  Write("ask\n\nnonsense\nask 90 " + hash + " kernel\x1b_a\nask x " + hash + " kernel_a\nask 90 " +
        std::string(1 << 20, '0') + " kernel_a\nask 90 ../../../../etc/pa kernel_a\nask 9");
  Write("0 " + hash + " kernel_a\nask 90 0000000000000001 kernel_a\nask 90 " + hash + " kern");
  EXPECT_THAT(Answers(2), ElementsAre("read kernel_a", "unread kernel_a"));
  Write("el_b\n");
  EXPECT_EQ(Answers(3)[2], "unread kernel_b");
}

TEST_F(ReaderTest, AllCodeThatTheGpuMayRunCounts) {
  const std::string both = MadeFat(
      {{.code = MadeCubin(90, {"kernel_a", "kernel_b"})},
       {.code = MadeCubin(90, {"kernel_a", "kernel_poison"}), .flags = FatEntry::kForThisGpu}});
  Ask(Put(both), {"kernel_a", "kernel_b"});
  EXPECT_THAT(Answers(2), ElementsAre("read kernel_b", "unread kernel_a"));
  // That of other GPUs is nobody's concern; each GPU is answered for itself.
  const std::string hash =
      Put(MadeFat({{.sm = 80, .code = MadeCubin(80, {"kernel_c", "kernel_poison"})},
                   {.sm = 90, .code = MadeCubin(90, {"kernel_c"}), .flags = FatEntry::kZstd},
                   {.sm = 100, .code = MadeCubin(100, {"kernel_c", "kernel_poison"})}}));
  Ask(hash, {"kernel_c"});
  EXPECT_EQ(Answers(3)[1], "read kernel_c");
  for (const int gpu : {80, 86, 70, 103, 120}) Ask(hash, {"kernel_c"}, gpu);
  EXPECT_THAT(Answers(8), testing::Contains("unread kernel_c").Times(5));
}

TEST_F(ReaderTest, OnlyMachineCodeIsRead) {
  Ask(Put(MadeFat({{.kind = 1, .code = ".entry kernel_a("}})), {"kernel_a"});
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_b"})}, {.kind = 8, .code = "LTO"}})),
      {"kernel_b"});
  std::string relocatable = MadeCubin(90, {"kernel_c"});
  relocatable[16] = 1;
  Ask(Put(MadeFat({{.code = relocatable}})), {"kernel_c"});
  EXPECT_THAT(Answers(3), ElementsAre("unread kernel_a", "unread kernel_b", "unread kernel_c"));
  EXPECT_EQ(Calls(), 0u);
  EXPECT_EQ(Kept().size(), 3u);
}

// Whoever puts another image under a name would have that trusted.
TEST_F(ReaderTest, AnImageIsWhatItsHashSays) {
  PutAs("00000000000000ab", MadeFat({{.code = MadeCubin(90, {"kernel_a"})}}));
  Ask("00000000000000ab", {"kernel_a"});
  EXPECT_THAT(Answers(1), ElementsAre("unread kernel_a"));
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(ReaderTest, WhatCouldNotBeReadIsNotKept) {
  const std::string image = MadeFat({{.code = MadeCubin(90, {"kernel_a"})}});
  Disassembler("printf x >>\"$CALLS\"; echo 'too new' >&2; exit 1");
  Ask(Put(image), {"kernel_a"});
  EXPECT_THAT(Answers(1), ElementsAre("unread kernel_a"));
  Ask(Put(image), {"kernel_a"});
  EXPECT_THAT(Answers(2), ElementsAre("unread kernel_a", "unread kernel_a"));
  EXPECT_EQ(Calls(), 1u) << "it would fail again";
  EXPECT_THAT(Kept(), IsEmpty());
  End();
  Disassembler(kShows);
  Begin();
  Ask(Put(image), {"kernel_a"});
  EXPECT_THAT(Answers(1), ElementsAre("read kernel_a"));
}

TEST_F(ReaderTest, WhenTheProgramEndsNothingIsLeft) {
  const std::string pid = folder_.path() + "/pid";
  Disassembler("echo $$ >'" + pid + "'; sleep 1000; exit 0");
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_a"})}})), {"kernel_a"});
  ASSERT_TRUE(Comes([&] { return ReadText(pid).ends_with('\n'); }));
  folder_.File("reading-0-1-0-x/.new-half", "of a child");
  const pid_t disassembler = std::stoi(ReadText(pid));
  EXPECT_EQ(kill(disassembler, 0), 0);
  // A zombie has ended: it is not waited for here until the reader has gone.
  kill(program_, SIGKILL);
  EXPECT_TRUE(ReaderEnds());
  reader_ = 0;
  EXPECT_FALSE(fs::exists(meet_));
  const auto ended = [&] {
    const std::string stat = ReadText(absl::StrCat("/proc/", disassembler, "/stat"));
    return stat.empty() || stat.find(") Z ") != std::string::npos;
  };
  EXPECT_TRUE(Comes(ended));
}

TEST_F(ReaderTest, WhereNoThreadCanBeStartedNothingIsLeft) {
  End();
  Begin([] {
    // No address space has room for such a stack.
    const rlimit most = {rlim_t{1} << 50, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &most);
  });
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_a"})}})), {"kernel_a"});
  EXPECT_TRUE(ReaderEnds());
  reader_ = 0;
  EXPECT_FALSE(fs::exists(meet_));
  EXPECT_EQ(kill(program_, 0), 0);
}

TEST_F(ReaderTest, WhenTheFolderGoesSoDoesTheReader) {
  Ask(Put(MadeFat({{.code = MadeCubin(90, {"kernel_a"})}})), {"kernel_a"});
  Answers(1);
  fs::rename(meet_, folder_.path() + "/elsewhere");
  EXPECT_TRUE(ReaderEnds());
  reader_ = 0;
  EXPECT_EQ(kill(program_, 0), 0);
  EXPECT_TRUE(fs::exists(folder_.path() + "/elsewhere/asked")) << "it is not ours any more";
}

// The driver may make code of PTX that nobody has read, unless there is code for just this GPU.
TEST_F(ReaderTest, CodeThatTheDriverMayCompileIsNotProven) {
  const std::string ptx = ".version 8.0\n.target sm_80\n.visible .entry kernel_a()\n{\nret;\n}\n";
  const std::string older = MadeCubin(80, {"kernel_a", "kernel_b"});
  const std::string hash =
      Put(MadeFat({{.sm = 80, .code = older}, {.kind = 1, .sm = 80, .code = ptx}}));
  Ask(hash, {"kernel_a", "kernel_b"}, 86);
  EXPECT_THAT(Answers(2), ElementsAre("read kernel_b", "unread kernel_a"));
  Ask(hash, {"kernel_a"}, 80);
  EXPECT_THAT(Answers(3), testing::Contains("read kernel_a")) << "there is code for just this GPU";
  // PTX for later GPUs alone makes none for this one.
  Ask(Put(MadeFat({{.sm = 80, .code = older}, {.kind = 1, .sm = 90, .code = ptx}})), {"kernel_a"},
      86);
  EXPECT_THAT(Answers(4), testing::Contains("read kernel_a").Times(2));
}

// The command removes a folder, so it looks at what it is given.
TEST_F(ReaderTest, WhatIsNoSuchFolderIsLeftAlone) {
  End();
  const std::string mine = folder_.path() + "/mine";
  folder_.File("mine/a file", "text");
  folder_.File("mine/0123456789abcdef.image", "an image");
  EXPECT_EQ(RunBinary("", "answer-readings '" + mine + "' 1").code, 1);
  EXPECT_TRUE(fs::exists(mine + "/0123456789abcdef.image"));
  EXPECT_EQ(RunBinary("", "answer-readings '" + mine + "' 0").code, 2);
  EXPECT_TRUE(fs::exists(mine + "/a file"));
  Begin();
  folder_.File("reading-0-1-0-x/a file", "text");
  End();
  EXPECT_TRUE(fs::exists(meet_ + "/a file"));
  EXPECT_FALSE(fs::exists(meet_ + "/asked"));
}

}  // namespace
}  // namespace vramspan::reader
