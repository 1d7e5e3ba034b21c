// The stub for containers, in LD_PRELOAD and, where this machine lets a test have one, in an
// /etc/ld.so.preload: programs that use CUDA have the preload, and others notice nothing.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/preload/run_program.h"
#include "tests/tools/run_binary.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using vramspan::ReadText;
using vramspan::TemporaryFolder;

constexpr char kStub[] = STUB_LIBRARY;
constexpr char kPreloadsName[] = "libvramspan_preload.so";
constexpr char kLine[] = "vramspan: this program runs as without vramspan: ";

void ExpectSees72Launches(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
  EXPECT_THAT(output.err, HasSubstr("72 launches"));
}

// A folder with the stub, and beside it what is to be found there.
class StubsFolder {
 public:
  StubsFolder() {
    std::filesystem::create_directory(path());
    std::filesystem::copy_file(kStub, stub());
  }
  std::string path() const { return folder_.path() + "/lib"; }
  std::string stub() const { return path() + "/libvramspan_stub.so"; }
  std::string beside() const { return path() + "/" + kPreloadsName; }
  void LinkPreload() const { std::filesystem::create_symlink(kPreload, beside()); }

  // As a shell runs it. Names of programs are quoted by the caller.
  Output Run(const std::string& prefix, const std::string& command) const {
    const std::string line =
        "cd '" + folder_.path() + "' && echo in | " + prefix + " " + command + " >out 2>err";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            ReadText(folder_.path() + "/out"), ReadText(folder_.path() + "/err")};
  }
  std::string With() const { return "env LD_PRELOAD='" + stub() + "'"; }

  const std::string& work() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

TEST(Stub, ProgramsThatUseCudaHaveThePreload) {
  for (const char* route : {"linked", "linked_pt", "dlsym", "proc1", "proc2_pt"}) {
    SCOPED_TRACE(route);
    ExpectSees72Launches(RunWith({kStub}, route, "doubled", "VRAMSPAN_STATS=-"));
  }
}

// As where `vramspan run` is used inside such a container.
TEST(Stub, StandsAsideForAPreloadThatIsThere) {
  for (const char* route : {"linked", "dlsym", "proc2"}) {
    SCOPED_TRACE(route);
    ExpectSees72Launches(RunWith({kPreload, kStub}, route, "doubled", "VRAMSPAN_STATS=-"));
    ExpectSees72Launches(RunWith({kStub, kPreload}, route, "doubled", "VRAMSPAN_STATS=-"));
  }
}

TEST(Stub, OthersDoNotNoticeIt) {
  const StubsFolder folder;
  folder.LinkPreload();
  const std::string built = "'" BYSTANDERS_FOLDER "/bystander_";
  for (const std::string& command :
       {built + "dynamic' a b", built + "static'", built + "unversioned' a", built + "asan' a",
        std::string("bash -c 'for i in 1 2 3; do (echo $i); done | sort -r; false'"),
        std::string("sh -c 'ls /proc/self/fd; grep Threads /proc/self/status; exit 3'"),
        std::string("grep -c libvramspan_preload /proc/self/maps"), std::string("ls /"),
        std::string("perl -e 'print \"a\\n\"; exit 9'"), std::string("env -i /bin/echo hi"),
        std::string("bash -c 'echo x >&-'")}) {
    SCOPED_TRACE(command);
    const Output plain = folder.Run("env", command), with = folder.Run(folder.With(), command);
    EXPECT_NE(plain.code, 127) << plain.err;
    EXPECT_EQ(with.code, plain.code);
    EXPECT_EQ(with.out, plain.out);
    EXPECT_EQ(with.err, plain.err);
  }
}

TEST(Stub, WhatNobodyHasIsNotThere) {
  if (std::system("python3 -c pass") != 0) GTEST_SKIP() << "NOT RUN: there is no python3";
  const StubsFolder folder;
  folder.LinkPreload();
  std::ofstream(folder.work() + "/program.py") << R"(
import ctypes
def loaded():
    return 'libvramspan_preload' in open('/proc/self/maps').read()
everybody = ctypes.CDLL(None)
for name in ('cuInit', 'cuMemAlloc_v2', 'nvmlDeviceGetMemoryInfo', 'cuptiSubscribe', 'vramspanPreloadPin'):
    assert not hasattr(everybody, name), name
assert not loaded()
cuda = ctypes.CDLL('libcuda.so.1')
assert not hasattr(cuda, 'cuNoSuchFunction')
assert cuda.cuInit(0) == 0
assert loaded()
assert hasattr(everybody, 'vramspanPreloadPin')
print('ok')
)";
  const Output output =
      folder.Run(folder.With() + " LD_LIBRARY_PATH='" SIMCUDA_FOLDER "'", "python3 program.py");
  EXPECT_EQ(output.out, "ok\n") << output.err;
  EXPECT_EQ(output.err, "");
}

// What Docker leaves where it mounts what is not there, and others.
TEST(Stub, WhereThePreloadCannotBeLoadedOneLineSaysSo) {
  for (const char* there : {"nothing", "folder", "text", "other library"}) {
    SCOPED_TRACE(there);
    const StubsFolder folder;
    const std::string kind = there;
    if (kind == "folder") std::filesystem::create_directory(folder.beside());
    if (kind == "text") std::ofstream(folder.beside()) << "no library\n";
    if (kind == "other library") {
      std::filesystem::create_symlink(OTHER_PRELOAD_BOUND, folder.beside());
    }
    for (const char* route : {"linked", "dlsym", "proc2"}) {
      const Output output = RunWith({folder.stub()}, route, "within");
      EXPECT_EQ(output.code, 0) << route << output.err;
      EXPECT_EQ(output.out, "ok\n");
      std::string err = output.err;
      // The other library says itself that it is there.
      if (const size_t at = err.find("other: "); at != std::string::npos) err.erase(at);
      EXPECT_THAT(err, StartsWith(kLine)) << route;
      EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    }
    EXPECT_THAT(RunWith({folder.stub()}, "linked", "within", "VRAMSPAN_LOG=off").err,
                ::testing::Not(HasSubstr("vramspan")));
    EXPECT_EQ(folder.Run(folder.With(), "echo hi").err, "");
  }
}

// A program whose stderr nobody reads any more is not ended by the line, and neither is written
// into what a program has opened in its place.
TEST(Stub, TheLineHarmsNobody) {
  const StubsFolder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  // dash knows descriptors of one digit.
  const int unread = 9;
  ASSERT_EQ(dup2(ends[1], unread), unread);
  const std::string program = folder.With() + " LD_LIBRARY_PATH='" SIMCUDA_FOLDER
                                              "' SIMCUDA_DEVICE_MEMORY=48MiB '" PROGRAM_LINKED_PATH
                                              "' linked within";
  const std::string out = folder.work() + "/out2";
  EXPECT_EQ(std::system((program + " >'" + out + "' 2>&" + std::to_string(unread)).c_str()), 0);
  EXPECT_EQ(ReadText(out), "ok\n");
  if (ends[1] != unread) close(ends[1]);
  close(unread);
}

}  // namespace
}  // namespace vramspan_test
