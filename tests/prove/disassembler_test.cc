#include "tools/prove/disassembler.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/prove/fake_nvdisasm.h"
#include "tools/prove/child.h"

namespace vramspan::prove {
namespace {

using ::testing::HasSubstr;

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

std::string Ran(const StatusOr<Disassembler>& found, std::string_view cubin) {
  if (!found.ok()) return found.status().ToString();
  const StatusOr<MappedFile> text = found->Run(cubin);
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
  if (!installed) EXPECT_THAT(found(), HasSubstr("install NVIDIA's cuda-nvdisasm"));
  const std::string triton = folder.Program("triton/nvdisasm", "exit 0");
  if (!installed) EXPECT_EQ(found(), triton);
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
  folder.File("site/triton/__init__.py", "raise SystemExit('imported')\n");
  const std::string program = folder.Program("site/triton/backends/nvidia/bin/nvdisasm", "exit 0");
  const Variable packages("PYTHONPATH", folder.path() + "/site"), home("CUDA_HOME", ""),
      other("CUDA_PATH", ""), path("PATH", folder.path() + "/bin");
  const StatusOr<Disassembler> found = Disassembler::Find("");
  ASSERT_TRUE(found.ok()) << found.status();
  // Another's place comes before.
  if (!std::filesystem::exists("/usr/local/cuda/bin/nvdisasm")) EXPECT_EQ(found->path(), program);
}

}  // namespace
}  // namespace vramspan::prove
