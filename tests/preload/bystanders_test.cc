// Programs that have nothing to do with CUDA, with the preload as one for the whole system would
// have it, and under `vramspan run`: each is as without vramspan.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "tests/preload/run_program.h"
#include "tests/tools/run_binary.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using vramspan::ReadText;
using vramspan::TemporaryFolder;

struct Case {
  const char* name;
  std::string command;
};

std::string Quoted(const std::string& text) { return "'" + text + "'"; }

// Programs are built beside this one. One that is missing is a failure.
std::string Built(const std::string& kind) {
  return Quoted(BYSTANDERS_FOLDER "/bystander_" + kind);
}

#if defined(__x86_64__)
const std::string kLoader = "/lib64/ld-linux-x86-64.so.2";
#else
const std::string kLoader = "/lib/ld-linux-aarch64.so.1";
#endif

class BystandersTest : public ::testing::TestWithParam<Case> {
 protected:
  BystandersTest() {
    std::ofstream(folder_.path() + "/script") << "#!/bin/sh\necho script \"$@\"\nexit 4\n";
    chmod((folder_.path() + "/script").c_str(), 0755);
    std::filesystem::create_directory_symlink(std::filesystem::path(kPreload).parent_path(),
                                              folder_.path() + "/lib");
    preload_ = folder_.path() + "/lib/" + std::filesystem::path(kPreload).filename().string();
  }

  // `prefix`: what stands before the command.
  Output Run(const std::string& prefix) const {
    const std::string line = "cd '" + folder_.path() + "' && echo in | " + prefix + " " +
                             GetParam().command + " >out 2>err";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            ReadText(folder_.path() + "/out"), ReadText(folder_.path() + "/err")};
  }

  const TemporaryFolder folder_;
  std::string preload_;
};

TEST_P(BystandersTest, AreAsWithoutVramspan) {
  const Output plain = Run("env");
  EXPECT_NE(plain.code, 127) << plain.err;
  for (const std::string& with :
       {"env LD_PRELOAD='" + preload_ + "'", Quoted(VRAMSPAN_BINARY) + " run --"}) {
    const Output output = Run(with);
    EXPECT_EQ(output.code, plain.code) << with;
    EXPECT_EQ(output.out, plain.out) << with;
    EXPECT_EQ(output.err, plain.err) << with;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BystandersTest,
    ::testing::Values(Case{"dynamic", Built("dynamic") + " a b"}, Case{"static", Built("static")},
                      Case{"unversioned", Built("unversioned") + " a"},
                      Case{"musl", Built("musl") + " a"}, Case{"musl_static", Built("musl_static")},
                      Case{"musl_child", "sh -c \"" + Built("musl") + " x; exit 5\""},
                      Case{"script", "./script a b"},
                      Case{"shell",
                           "bash -c 'for i in 1 2 3; do (echo $i); done | sort -r; false'"},
                      Case{"perl", "perl -e 'print \"a\\n\"; exit 9'"}, Case{"ls", "ls /"},
                      Case{"empty_environment", "env -i /bin/echo hi"},
                      Case{"closed_output", "bash -c 'echo x >&-'"},
                      Case{"by_the_loader", kLoader + " " + Built("dynamic")}),
    [](const ::testing::TestParamInfo<Case>& tried) { return tried.param.name; });

// A user who asked for more than the program is told that it does not come.
TEST(Bystanders, WhoAsksForMoreIsTold) {
  const auto run = [](const std::string& options, const std::string& program) {
    return vramspan::RunBinary("", "run " + options + " -- " + program + " </dev/null");
  };
  const std::string musl = BYSTANDERS_FOLDER "/bystander_musl";
  const std::string line = "vramspan run: " + musl +
                           " runs as without vramspan, because it is a program for musl\n"
                           "err\n";
  EXPECT_EQ(run("--stats", Quoted(musl)).err, line);
  EXPECT_EQ(run("--quiet --device-memory 2MiB", Quoted(musl)).err, line);
  EXPECT_EQ(run("--quiet", Quoted(musl)).err, "err\n");
  EXPECT_THAT(run("--stats", Built("static")).err, HasSubstr("because it is linked statically\n"));
  EXPECT_EQ(run("--stats", Built("dynamic")).err, "err\n");
}

}  // namespace
}  // namespace vramspan_test
