#include "tools/prove/disassembler.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/prove/fake_nvdisasm.h"
#include "tools/prove/child.h"

namespace vramspan::prove {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A variable of the environment, for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.has_value() ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

std::string Ran(const StatusOr<Disassembler>& found, std::string_view cubin,
                const ChildLimits& limits = {}) {
  if (!found.ok()) return found.status().ToString();
  const StatusOr<MappedFile> text = found->Run(cubin, limits);
  return text.ok() ? std::string(text->bytes()) : text.status().ToString();
}

TEST(DisassemblerTest, IsGivenTheCubinAndAskedForAllCode) {
  const FolderOfPrograms folder;
  const std::string program = folder.Program("nvdisasm", "[ $# = 1 ] && cat \"$1\" && echo .text");
  const std::string cubin(1 << 20, 'c');
  EXPECT_EQ(Ran(Disassembler::Find(program), cubin), cubin + ".text\n");
}

// As descriptors' numbers are when a program is started so.
TEST(DisassemblerTest, NeedsNoneOfThoseThatAChildHas) {
  const FolderOfPrograms folder;
  const std::string program = folder.Program("nvdisasm", "cat \"$1\"; echo end");
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  close(STDOUT_FILENO);
  const std::string ran = Ran(Disassembler::Find(program), "cubin\n");
  dup2(out, STDOUT_FILENO);
  close(out);
  EXPECT_EQ(ran, "cubin\nend\n");
}

TEST(DisassemblerTest, SaysWhatWentWrong) {
  const FolderOfPrograms folder;
  const auto ran = [&](const char* script) {
    return Ran(Disassembler::Find(folder.Program("nvdisasm", script)), "cubin");
  };
  EXPECT_THAT(ran("echo 'nvdisasm fatal: \x1b[31mold' >&2; echo more >&2; exit 1"),
              HasSubstr("nvdisasm: nvdisasm fatal: \xEF\xBF\xBD[31mold"));
  EXPECT_THAT(ran("exit 3"), HasSubstr("nvdisasm: it ended with status 3"));
  EXPECT_THAT(ran("kill -9 $$"), HasSubstr("signal 9"));
  EXPECT_EQ(ran("exit 0"), "");
  folder.File("other", "");
  EXPECT_THAT(Ran(Disassembler::Find(folder.path() + "/other"), ""), HasSubstr("is no program"));
  EXPECT_THAT(Ran(Disassembler::Find(folder.path()), ""), HasSubstr("is no program"));
  EXPECT_THAT(Ran(Disassembler::Find("no-such-nvdisasm"), ""), HasSubstr("not in PATH"));
  const Variable temporary("TMPDIR", folder.path() + "/none");
  EXPECT_THAT(ran("exit 0"), testing::AnyOf(HasSubstr("no file can be made in"), ""));
}

TEST(DisassemblerTest, NothingIsLeftOfIt) {
  const FolderOfPrograms folder, temporary;
  const Variable variable("TMPDIR", temporary.path());
  const std::string program =
      folder.Program("nvdisasm", absl::StrCat("cat \"$1\"; ls '", temporary.path(), "'"));
  EXPECT_EQ(Ran(Disassembler::Find(program), "cubin"), "cubin") << "while it runs";
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
}

TEST(DisassemblerTest, ItsFilesMayLieInMemory) {
  const FolderOfPrograms folder;
  const Variable variable("TMPDIR", folder.path() + "/none");
  const std::string program = folder.Program("nvdisasm", "cat \"$1\"; ls -l /proc/self/fd");
  const std::string ran = Ran(Disassembler::Find(program), "cubin\n", {.in_memory = true});
  EXPECT_THAT(ran, AllOf(StartsWith("cubin\n"), HasSubstr("/memfd:")));
}

// nvdisasm ends well though it could not write all.
TEST(DisassemblerTest, AListingThatIsCutIsNone) {
  const FolderOfPrograms folder;
  for (const bool in_memory : {false, true}) {
    const ChildLimits limits = {.output = 10'000, .in_memory = in_memory};
    const auto ran = [&](const std::string& script) {
      return Ran(Disassembler::Find(folder.Program("nvdisasm", script)), "cubin", limits);
    };
    EXPECT_EQ(ran("printf '%09999d' 0").size(), 9'999u);
    for (const char* const script : {"printf '%020000d' 0", "printf '%020000d' 0; exit 0",
                                     "trap '' XFSZ; printf '%020000d' 0 2>/dev/null; exit 0",
                                     "trap '' XFSZ; printf '%020000d' 0 2>/dev/null; exit 1"}) {
      EXPECT_THAT(ran(script), StartsWith("RESOURCE_EXHAUSTED: no room in ")) << script;
    }
  }
}

TEST(DisassemblerTest, AFullFileSystemIsNoRoom) {
  const FolderOfPrograms folder, place;
  const std::string program =
      folder.Program("nvdisasm", "dd if=/dev/zero bs=4096 count=64 2>/dev/null; exit 0");
  EXPECT_EQ(Ran(Disassembler::Find(program), "cubin").size(), 64u * 4096);
  const std::string user = absl::StrCat("0 ", geteuid(), " 1\n");
  const pid_t child = fork();
  if (child == 0) {
    // Root needs no users of its own, and others may have them.
    if (unshare(CLONE_NEWNS) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(2);
      std::ofstream("/proc/self/uid_map") << user;
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", place.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      _exit(2);
    }
    setenv("TMPDIR", place.path().c_str(), 1);
    _exit(Ran(Disassembler::Find(program), "cubin").starts_with("RESOURCE_EXHAUSTED: no room in ")
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 2 << 8) GTEST_SKIP() << "this user may mount nothing";
  EXPECT_EQ(status, 0);
}

TEST(DisassemblerTest, ItsTimeAndMemoryAreBounded) {
  const FolderOfPrograms folder;
  const auto ran = [&](const char* script, const ChildLimits& limits) {
    return Ran(Disassembler::Find(folder.Program("nvdisasm", script)), "cubin", limits);
  };
  const ChildLimits short_time = {.time = std::chrono::milliseconds(50)};
  EXPECT_THAT(ran("echo said >&2; exec sleep 1000", short_time), HasSubstr("it took too long"));
  EXPECT_EQ(ran("echo all", {.time = std::chrono::minutes(10)}), "all\n");
  EXPECT_THAT(ran("exit 3", {.time = std::chrono::minutes(10)}), HasSubstr("status 3"));
  EXPECT_EQ(ran("sleep 0.1; ulimit -v", {.memory = uint64_t{1} << 30}), "1048576\n");
}

TEST(DisassemblerTest, IsFoundWhereOthersPutIt) {
  const FolderOfPrograms folder;
  const auto found = [] {
    const StatusOr<Disassembler> it = Disassembler::Find("");
    return it.ok() ? it->path() : std::string(it.status().message());
  };
  // What finds packages prints folders that are not there, too.
  folder.Program("python/python3",
                 absl::StrCat("echo /no/such; echo '", folder.path(), "/triton'"));
  const Variable path("PATH",
                      absl::StrCat(folder.path(), "/empty:", folder.path(), "/python:/bin"));
  const Variable home("CUDA_HOME", folder.path() + "/cuda"), other("CUDA_PATH", "");
  const bool installed = std::filesystem::exists("/usr/local/cuda/bin/nvdisasm");
  if (!installed) {
    EXPECT_THAT(found(), HasSubstr("install NVIDIA's cuda-nvdisasm"));
  }
  const std::string triton = folder.Program("triton/nvdisasm", "exit 0");
  if (!installed) {
    EXPECT_EQ(found(), triton);
  }
  const std::string toolkit = folder.Program("cuda/bin/nvdisasm", "exit 0");
  EXPECT_EQ(found(), toolkit);
  folder.File("empty/nvdisasm", "no program");
  EXPECT_EQ(found(), toolkit);
  const std::string first = folder.Program("python/nvdisasm", "exit 0");
  EXPECT_EQ(found(), first);
  EXPECT_EQ(Disassembler::Find("nvdisasm")->path(), first);
}

// The script that is handed to python3 finds packages without importing them.
TEST(DisassemblerTest, PackagesOfPythonAreNotImported) {
  const FolderOfPrograms folder;
  const StatusOr<MappedFile> python =
      OutputOf({"python3", "-c", "import sys; print(sys.executable, end='')"}, "");
  ASSERT_TRUE(python.ok()) << python.status();
  folder.Program("bin/python3", absl::StrCat("exec '", python->bytes(), "' \"$@\""));
  // The user's own packages.
  const Variable user("HOME", folder.path());
  const StatusOr<MappedFile> place = OutputOf(
      {"python3", "-I", "-c", "import site; print(site.getusersitepackages(), end='')"}, "");
  ASSERT_TRUE(place.ok()) << place.status();
  const std::string site =
      std::filesystem::path(place->bytes()).lexically_relative(folder.path()).string();
  folder.File(site + "/triton/__init__.py", "raise SystemExit('imported')\n");
  const std::string program =
      folder.Program(site + "/triton/backends/nvidia/bin/nvdisasm", "exit 0");
  // Nor is what somebody put where Python would look for its own.
  folder.File("evil/glob.py", "raise SystemExit('imported')\n");
  const Variable packages("PYTHONPATH", folder.path() + "/evil"), home("CUDA_HOME", ""),
      other("CUDA_PATH", ""), path("PATH", folder.path() + "/bin");
  const StatusOr<Disassembler> found = Disassembler::Find("");
  ASSERT_TRUE(found.ok()) << found.status();
  // Another's place comes before.
  if (!std::filesystem::exists("/usr/local/cuda/bin/nvdisasm")) {
    EXPECT_EQ(found->path(), program);
  }
}

}  // namespace
}  // namespace vramspan::prove
