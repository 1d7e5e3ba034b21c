// `vramspan run` as a user runs it: what it refuses, and what of a program stays its own.
#include <gmock/gmock.h>
#include <unistd.h>

#include <sstream>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// As a user's shell is: without what these tests are given.
constexpr char kClean[] =
    "-u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER "
    // In a build for AddressSanitizer the preload has its runtime, and env has not.
    "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:handle_segv=0 ";

Output Launch(const std::string& arguments, const std::string& environment = "") {
  return RunBinary(kClean + environment, "run " + arguments);
}

TEST(Run, CodeSignalAndOutputAreTheProgramsOwn) {
  const Output code = Launch("-- sh -c 'cat; echo out; echo err >&2; exit 7' </dev/null");
  EXPECT_EQ(code.code, 7);
  EXPECT_THAT(code.out, HasSubstr("out\n"));
  EXPECT_EQ(code.err, "err\n");
  // One that no sanitizer handles.
  const Output killed = Launch("-- sh -c 'kill -USR1 $$'");
  EXPECT_EQ(killed.code, 128 + 10) << "by the shell that waits";
}

TEST(Run, AnsweredAsAShellWouldWhereTheProgramCannotBeRun) {
  const Output missing = Launch("-- no-such-program");
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.err, "vramspan run: no-such-program: there is no such program in PATH\n");
  const Output nowhere = Launch("-- /no/such/program");
  EXPECT_EQ(nowhere.code, 127);
  EXPECT_EQ(nowhere.err, "vramspan run: /no/such/program: No such file or directory\n");
  const Output folder = Launch("-- /tmp");
  EXPECT_EQ(folder.code, 126);
  EXPECT_EQ(folder.err, "vramspan run: /tmp: it is a folder\n");
}

// What a user of python3 meets first.
TEST(Run, AFileThatIsNotFoundOrNotRunnableIsToldApart) {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/train.py";
  std::ofstream(script) << "#!/no/such/python\n";
  const std::string inside = "env -C '" + folder.path() + "' ";
  EXPECT_THAT(Launch("train.py", inside).err,
              HasSubstr("train.py: there is no such program in PATH; of the file that is here, "
                        "write ./train.py, or put what runs it before it, as python3\n"));
  const Output closed = Launch("./train.py", inside);
  EXPECT_EQ(closed.code, 126);
  EXPECT_THAT(closed.err, HasSubstr("./train.py: it may not be executed; chmod +x it"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Output unread = Launch("./train.py", inside);
  EXPECT_EQ(unread.code, 127);
  EXPECT_THAT(unread.err, HasSubstr("its first line has it run by /no/such/python, which is not"));
  const Output nameless = Launch("-- ''");
  EXPECT_EQ(nameless.code, 127);
  EXPECT_THAT(nameless.err, HasSubstr("a program's name is missing"));
}

TEST(Run, WhereNothingCanBeWrittenIsToldBeforeTheProgramRuns) {
  const TemporaryFolder folder;
  const Output stats = Launch("--stats='" + folder.path() + "' -- env");
  EXPECT_EQ(stats.code, 1);
  EXPECT_THAT(stats.err, HasSubstr("--stats: " + folder.path() + ": it is no regular file"));
  EXPECT_THAT(stats.out, IsEmpty());
  const std::string closed = folder.path() + "/closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(
      closed, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  // Root may write everywhere, but for a root without that right.
  const std::string user = geteuid() == 0 ? "setpriv --bounding-set=-dac_override " : "";
  for (const std::string option : {"--record ", "--record-events ", "--stats="}) {
    const Output run = Launch(option + "'" + closed + "/new' -- env", user);
    EXPECT_EQ(run.code, 1) << option;
    EXPECT_THAT(run.err, HasSubstr("/new: this user may not write into the folder\n"));
    EXPECT_THAT(run.out, IsEmpty());
  }
}

TEST(Run, MistakesExitWithTwoAndNameWhatWasWrong) {
  const struct {
    const char* environment;
    const char* arguments;
    const char* words;
  } cases[] = {
      {"", "", "program is required"},
      {"", "--nonsense -- true", "--nonsense"},
      {"", "--device-memory 8Gib -- true", "--device-memory: '8Gib'"},
      {"", "--device-memory 0 -- true", "--device-memory: '0'"},
      {"", "--device-memory 101% -- true", "--device-memory: '101%'"},
      {"", "--host-memory lots -- true", "--host-memory: 'lots'"},
      {"", "--host-memory 9000TiB -- true", "--host-memory: '9000TiB' is more than the machine's"},
      {"", "--chunk 3MiB -- true", "--chunk: '3MiB'"},
      {"", "--chunk 128MiB -- true", "--chunk: '128MiB'"},
      {"", "--policy best -- true", "--policy: there is no eviction policy 'best'"},
      {"", "--tracer magic -- true", "--tracer: 'magic'"},
      {"", "--graphs halved -- true", "--graphs: 'halved'"},
      {"", "--overlap some -- true", "--overlap: 'some'"},
      {"", "--report lots -- true", "--report: 'lots' is not a way to report memory"},
      {"", "--broker maybe -- true", "--broker: 'maybe' is not a broker; use off, require, or"},
      {"VRAMSPAN_BROKER=here", "-- true", "VRAMSPAN_BROKER: 'here' is not a broker"},
      {"", "--record-times few -- true", "--record-times: 'few'"},
      {"", "--record '' -- true", "--record: '' is not a file"},
      {"", "--device-memory 1MiB -- true", "--device-memory: '1MiB' is less than a chunk"},
      {"", "--device-memory '' -- true", "--device-memory: '' is not a budget"},
      {"VRAMSPAN_DEVICE_MEMORY=8Gib", "-- true", "VRAMSPAN_DEVICE_MEMORY: '8Gib'"},
      {"VRAMSPAN_OVERLAP=some", "-- true", "VRAMSPAN_OVERLAP: 'some'"},
      {"", "--read perhaps -- true", "--read: 'perhaps' is neither on nor off"},
      {"", "--learned perhaps -- true", "--learned: 'perhaps' is neither on nor off"},
      {"SIMCUDA_DEVICE_MEMORY=64MiB", "--simulate --device-memory 65MiB -- true",
       "--device-memory: '65MiB' is more than the device's 64 MiB"},
      {"SIMCUDA_DEVICE_MEMORY=64MiB VRAMSPAN_SIMULATE=1", "--device-memory 65MiB -- true",
       "is more than the device's 64 MiB"},
  };
  for (const auto& c : cases) {
    const Output run = Launch(c.arguments, c.environment);
    EXPECT_EQ(run.code, 2) << c.arguments;
    EXPECT_THAT(run.err, HasSubstr(c.words)) << c.arguments;
    EXPECT_THAT(run.out, IsEmpty()) << c.arguments;
  }
}

TEST(Run, ABudgetIsComparedWithTheLargestGpu) {
  const std::string nvml = std::string("LD_LIBRARY_PATH='") + FAKE_NVML_FOLDER + "'";
  EXPECT_EQ(Launch("--device-memory 12GiB -- true", nvml).code, 0);
  const Output more = Launch("--device-memory 13GiB -- true", nvml);
  EXPECT_EQ(more.code, 2);
  EXPECT_THAT(more.err, HasSubstr("--device-memory: '13GiB' is more than the device's 12288 MiB"));
}

TEST(Run, OptionsBecomeVariables) {
  const Output env = Launch(
      "--device-memory 8GiB --host-memory 50% --chunk 4MiB --policy lru --tracer hooks --overlap "
      "safe --graphs cut --learned on --read off --report budget --broker require --record "
      "/tmp/%p.vramspan "
      "--record-times "
      "all "
      "--stats=/tmp/stats "
      "--quiet --record-events /tmp/%p.events "
      "--off -- env",
      "LD_PRELOAD=libm.so.6");
  ASSERT_EQ(env.code, 0) << env.err;
  for (const char* line :
       {"VRAMSPAN_DEVICE_MEMORY=8GiB", "VRAMSPAN_HOST_MEMORY=50%", "VRAMSPAN_CHUNK=4MiB",
        "VRAMSPAN_POLICY=lru", "VRAMSPAN_TRACER=hooks", "VRAMSPAN_OVERLAP=safe",
        "VRAMSPAN_GRAPHS=cut", "VRAMSPAN_LEARNED=on", "VRAMSPAN_READ=off",
        "VRAMSPAN_STATS=/tmp/stats", "VRAMSPAN_QUIET=1", "VRAMSPAN_REPORT=budget",
        "VRAMSPAN_BROKER=require", "VRAMSPAN_RECORD=/tmp/%p.vramspan", "VRAMSPAN_OFF=1",
        "VRAMSPAN_RECORD_TIMES=all", "VRAMSPAN_RECORD_EVENTS=/tmp/%p.events",
        "/libvramspan_preload.so:libm.so.6"}) {
    EXPECT_THAT(env.out, HasSubstr(std::string(line) + "\n"));
  }
  // The tests' own, by which no program shows itself.
  const Output bare = Launch("-- env -u VRAMSPAN_TOP -u VRAMSPAN_READ env");
  EXPECT_THAT(bare.out, HasSubstr("/libvramspan_preload.so\n"));
  EXPECT_THAT(bare.out, Not(HasSubstr("\nVRAMSPAN_")));
  EXPECT_THAT(Launch("--stats -- env").out, HasSubstr("VRAMSPAN_STATS=-\n"));
}

TEST(Run, StatsTakeAFileOrNone) {
  for (const char* line : {"--stats - -- env", "--stats - env", "--stats env",
                           "--stats --quiet -- env", "--stats - --quiet env"}) {
    EXPECT_THAT(Launch(line).out, HasSubstr("VRAMSPAN_STATS=-\n")) << line;
  }
  for (const char* line :
       {"--stats=/tmp/stats env", "--stats /tmp/stats -- env", "--stats /tmp/stats --quiet -- env",
        "--quiet --stats /tmp/stats -- env"}) {
    EXPECT_THAT(Launch(line).out, HasSubstr("VRAMSPAN_STATS=/tmp/stats\n")) << line;
  }
  // By its place, whatever the program makes its folder.
  EXPECT_THAT(Launch("--stats=here -- env").out,
              HasSubstr("VRAMSPAN_STATS=" + std::filesystem::current_path().string() + "/here\n"));
  const Output nowhere = Launch("--stats=/nowhere/stats -- env");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("--stats: /nowhere/stats: there is no folder /nowhere\n"));
  // What stands behind -- is the program's.
  const Output own = Launch("-- sh -c 'echo $0 $1' --stats -");
  EXPECT_EQ(own.out, "--stats -\n");
}

TEST(Run, OptionsEndAtTheProgram) {
  const std::string show = "sh -c 'echo $VRAMSPAN_STATS, $VRAMSPAN_CHUNK, $@' own ";
  const struct {
    std::string arguments, out;
  } cases[] = {
      {"--quiet " + show + "--chunk 4MiB --quiet", ", , --chunk 4MiB --quiet\n"},
      {"--chunk 4MiB " + show + "--stats f -- x", ", 4MiB, --stats f -- x\n"},
      {"--stats " + show + "--chunk", "-, , --chunk\n"},
      {"--stats " + show + "-- x", "-, , -- x\n"},
      {"--stats /tmp/f --chunk 4MiB -- " + show + "-- x", "/tmp/f, 4MiB, -- x\n"},
      {"--record /tmp/%p.x --stats - --chunk=2MiB -- " + show + "--", "-, 2MiB, --\n"},
      {"-- " + show + "--help", ", , --help\n"},
  };
  for (const auto& c : cases) {
    const Output run = Launch(c.arguments);
    EXPECT_EQ(run.out, c.out) << c.arguments << run.err;
  }
}

TEST(Run, AValueIsNeitherEmptyNorTheEndOfTheOptions) {
  for (const char* option : {"--record", "--profile", "--chunk"}) {
    for (const char* value : {"=", " ''"}) {
      const Output empty = Launch(std::string(option) + value + " -- env");
      EXPECT_EQ(empty.code, 2) << option << value << empty.out;
      EXPECT_THAT(empty.err, HasSubstr(option)) << value;
    }
    const Output end = Launch(std::string(option) + " -- env");
    EXPECT_EQ(end.code, 2) << option << end.out;
    EXPECT_THAT(end.err, HasSubstr(option));
  }
}

TEST(Run, VariablesSayYesOrNo) {
  for (const char* variable : {"VRAMSPAN_QUIET", "VRAMSPAN_OFF", "VRAMSPAN_SIMULATE"}) {
    for (const char* text : {"1", "Yes", "on", "TRUE", "0", "no", "Off", "false", ""}) {
      EXPECT_EQ(Launch("-- true", std::string(variable) + "=" + text).code, 0) << variable << text;
    }
    const Output other = Launch("-- true", std::string(variable) + "=maybe");
    EXPECT_EQ(other.code, 2) << variable;
    EXPECT_EQ(other.err,
              std::string("vramspan run: ") + variable +
                  ": 'maybe' is neither yes nor no; use 1, yes, on, true, 0, no, off or false\n");
  }
  EXPECT_THAT(Launch("-- env", "VRAMSPAN_SIMULATE=off").out, Not(HasSubstr("VRAMSPAN_DRIVER")));
  EXPECT_THAT(Launch("-- env", "VRAMSPAN_SIMULATE=Yes").out, HasSubstr("VRAMSPAN_DRIVER="));
}

TEST(Run, MisspeltVariablesAreNamed) {
  const std::string line =
      "VRAMSPAN_OVERLAPP is no variable of vramspan; did you mean 'VRAMSPAN_OVERLAP'?\n";
  const Output run = Launch("-- env", "VRAMSPAN_OVERLAPP=all");
  EXPECT_EQ(run.err, "vramspan run: " + line);
  EXPECT_THAT(run.out, HasSubstr("VRAMSPAN_TOLD=1\n")) << "what it starts tells it once more";
  EXPECT_THAT(Launch("-- env").out, Not(HasSubstr("VRAMSPAN_TOLD")));
  EXPECT_EQ(Launch("--quiet -- true", "VRAMSPAN_OVERLAPP=all").err, "");
  EXPECT_EQ(Launch("-- true", "VRAMSPAN_TOLD=1 VRAMSPAN_OVERLAPP=all").err, "");
}

// As of all commands: that there is no such file is no mistake of the command line.
TEST(Run, AFileThatIsNotThereIsAFailure) {
  for (const char* const command :
       {"run --profile /no/such -- true", "run --trust /no/such -- true",
        "run --record /no/such/x -- true", "prove --nvdisasm /no/such /no/such", "replay /no/such",
        "repeat /no/such", "report -o /no/such/x /no/such", "trace info /no/such",
        "tune -o /no/such/x /no/such"}) {
    const Output output = RunBinary(kClean, command);
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err, HasSubstr("/no/such")) << command;
  }
}

TEST(Run, LifetimesChoosePyTorchsAllocator) {
  const std::string chosen = "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync\n";
  EXPECT_THAT(Launch("-- env").out, Not(HasSubstr("PYTORCH")));
  for (const Output& run : {Launch("--lifetimes -- env"), Launch("-- env", "VRAMSPAN_LIFETIMES=1"),
                            Launch("--lifetimes -- env", "PYTORCH_CUDA_ALLOC_CONF=")}) {
    EXPECT_THAT(run.out, HasSubstr(chosen)) << run.err;
    EXPECT_THAT(run.err, IsEmpty());
  }
  EXPECT_THAT(Launch("-- env", "VRAMSPAN_LIFETIMES=off").out, Not(HasSubstr("PYTORCH")));
  EXPECT_THAT(Launch("--lifetimes --off -- env").out, Not(HasSubstr("PYTORCH")));
  EXPECT_EQ(Launch("-- true", "VRAMSPAN_LIFETIMES=maybe").code, 2);
  for (const std::string variable : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const std::string own = variable + "=expandable_segments:True";
    const Output run = Launch("--lifetimes -- env", own);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, AllOf(HasSubstr(own + "\n"), Not(HasSubstr("cudaMallocAsync"))));
    EXPECT_EQ(run.err, "vramspan run: " + variable +
                           " is set, to 'expandable_segments:True', and stands: --lifetimes "
                           "changes nothing. backend:cudaMallocAsync in it would do the same\n");
    EXPECT_THAT(Launch("--lifetimes --quiet -- env", own).err, IsEmpty());
    // Nothing is to be said where that is what the user has.
    EXPECT_THAT(Launch("--lifetimes -- env", variable + "=backend:cudaMallocAsync").err, IsEmpty());
  }
}

TEST(Run, ForceRemovesFilesOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/t.vramspan", kept = folder.path() + "/kept";
  std::ofstream(kept) << "mine";
  const auto refused = [&] {
    const Output run = Launch("--force --record " + path + " -- env");
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr("--record: " + path + " is not a regular file"));
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(path)));
  };
  std::filesystem::create_directory(path);
  refused();
  std::filesystem::remove(path);
  std::filesystem::create_symlink(kept, path);
  refused();
  EXPECT_EQ(ReadText(kept), "mine");
  EXPECT_EQ(Launch("--record " + path + " -- env").code, 1) << "not without --force either";
  std::filesystem::remove(path);
  ASSERT_EQ(std::system(("mkfifo " + path).c_str()), 0);
  refused();
}

TEST(Run, ARecordingIsNotWrittenOver) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/t.vramspan";
  // By its place, whatever the program makes its folder.
  EXPECT_THAT(Launch("--record " + path + " -- env").out, HasSubstr("VRAMSPAN_RECORD=" + path));
  EXPECT_THAT(Launch("--record-events " + path + " -- env").out,
              HasSubstr("VRAMSPAN_RECORD_EVENTS=" + path));
  std::ofstream(path) << "something";
  const Output refused = Launch("--record " + path + " -- env");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(path + ": the file exists; --force replaces it"));
  EXPECT_THAT(Launch("--record-events " + path + " -- env").err,
              HasSubstr("--record-events: " + path + ": the file exists; --force replaces it"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(Launch("--force --record " + path + " -- no-such-program").code, 127);
  EXPECT_EQ(Launch("--force --record " + path + " -- /tmp").code, 126);
  EXPECT_TRUE(std::filesystem::exists(path)) << "what runs nothing removes nothing";
  EXPECT_EQ(Launch("--force --record " + path + " -- env").code, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  const Output nowhere = Launch("--record " + folder.path() + "/none/t.vramspan -- env");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("there is no folder " + folder.path() + "/none\n"));
  EXPECT_THAT(nowhere.out, IsEmpty());
}

TEST(Run, AProfileFillsInWhatIsNotGiven) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/app.profile";
  const std::string text =
      "vramspan-profile 2\nprogram=/usr/bin/env FOO=1\ndevice=A GPU\ndevice_uuid=GPU-1234\n"
      "device_memory=8589934592\npolicy=lru\nchunk=16MiB\noverlap=safe\npredicted_ms=1.000\n"
      "default_ms=2.000\nresident_ms=0.500\nkeep=8388608 3\nkeep=2097152 1\n"
      "kernel=1.250 20.500 00000000000000ab a\n";
  std::ofstream(path) << text;
  const Output all = Launch("--profile " + path + " -- env");
  ASSERT_EQ(all.code, 0) << all.err;
  for (const char* line : {"VRAMSPAN_POLICY=lru", "VRAMSPAN_CHUNK=16MiB", "VRAMSPAN_OVERLAP=safe",
                           "VRAMSPAN_DEVICE_MEMORY=8192MiB", "VRAMSPAN_PROFILE_DEVICE=GPU-1234",
                           "VRAMSPAN_KEEP=8388608:3,2097152:1",
                           "VRAMSPAN_KERNELS=af63dc4c8601ec8c:00000000000000ab:1250:20500"}) {
    EXPECT_THAT(all.out, HasSubstr(std::string(line) + "\n"));
  }
  const Output some = Launch("--policy fifo --profile " + path + " -- env",
                             "VRAMSPAN_CHUNK=2MiB VRAMSPAN_KEEP=4194304:1");
  EXPECT_THAT(some.out, HasSubstr("VRAMSPAN_KEEP=4194304:1\n"));
  EXPECT_THAT(some.out, HasSubstr("VRAMSPAN_POLICY=fifo\n"));
  EXPECT_THAT(some.out, HasSubstr("VRAMSPAN_CHUNK=2MiB\n"));
  EXPECT_THAT(some.out, HasSubstr("VRAMSPAN_OVERLAP=safe\n"));
  EXPECT_THAT(Launch("-- env", "VRAMSPAN_PROFILE=" + path).out, HasSubstr("VRAMSPAN_POLICY=lru\n"));
  const Output by_variable = Launch("-- true", "VRAMSPAN_PROFILE=" + path);
  EXPECT_EQ(by_variable.code, 1);
  EXPECT_THAT(by_variable.err, HasSubstr("VRAMSPAN_PROFILE: " + path));
  const Output other = Launch("--profile " + path + " -- true");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr(path));
  std::ofstream(path) << "vramspan-profile 9\n";
  EXPECT_EQ(Launch("--profile " + path + " -- env").code, 1);
  EXPECT_EQ(Launch("--profile /no/such/file -- env").code, 1);
  std::ofstream(path) << text;
  EXPECT_THAT(Launch("--simulate --profile " + path + " -- env", "SIMCUDA_DEVICE_MEMORY=64MiB").err,
              HasSubstr("--profile: " + path + ": device_memory: '8192MiB' is more than"));
}

TEST(Run, SimulateComesFirstOnTheLoadersPathAndIsLargeEnough) {
  const Output plain = Launch("--simulate -- env", "LD_LIBRARY_PATH=/elsewhere");
  EXPECT_THAT(plain.out, AllOf(ContainsRegex("LD_LIBRARY_PATH=/[^:]*:/elsewhere\n"),
                               ContainsRegex("VRAMSPAN_DRIVER=/[^:]*/libcuda.so.1\n"),
                               Not(HasSubstr("SIMCUDA_DEVICE_MEMORY"))));
  EXPECT_THAT(Launch("--simulate --device-memory 4GiB -- env").out,
              HasSubstr("SIMCUDA_DEVICE_MEMORY=5121MiB\n"));
}

TEST(Run, AProgramThatIsNotCudaRunsUntouched) {
  const Output hello = Launch("--stats -- sh -c 'echo hello'");
  EXPECT_EQ(hello.code, 0);
  EXPECT_EQ(hello.out, "hello\n");
  EXPECT_THAT(hello.err, IsEmpty());
}

// What was built, in a folder whose name the loader would split.
class OddFolderTest : public ::testing::Test {
 protected:
  OddFolderTest() {
    namespace fs = std::filesystem;
    fs::create_directories(odd_ + "/bin");
    fs::create_directory(temporary_);
    fs::copy(VRAMSPAN_BINARY, odd_ + "/bin/vramspan");
    fs::create_directory_symlink(fs::path(VRAMSPAN_BINARY).parent_path() / "../lib", odd_ + "/lib");
  }

  Output Run(const std::string& arguments) const {
    const std::string out = folder_.path() + "/out", err = folder_.path() + "/err";
    const std::string command = std::string("env ") + kClean + "TMPDIR='" + temporary_ + "' '" +
                                odd_ + "/bin/vramspan' run " + arguments + " >'" + out + "' 2>'" +
                                err + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadText(out),
            ReadText(err)};
  }
  size_t Links() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_)) {
      count += entry.is_symlink() ? 1 : 0;
    }
    return count;
  }

  const TemporaryFolder folder_;
  const std::string odd_ = folder_.path() + "/a b:c/vramspan",
                    temporary_ = folder_.path() + "/temporary";
};

// Each grep looks into its own process.
constexpr char kPreloaded[] = "grep -q /libvramspan_preload.so /proc/self/maps";

TEST_F(OddFolderTest, TheProgramAndItsChildrenHaveThePreload) {
  const std::string own = kPreloaded;
  const Output run = Run("--simulate -- sh -c '" + own + " && sh -c \"" + own + " && sh -c env\"'");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty()) << "the loader complains of what it does not find";
  EXPECT_THAT(run.out, AllOf(HasSubstr("LD_PRELOAD=" + temporary_ + "/vramspan-"),
                             HasSubstr("LD_LIBRARY_PATH=" + temporary_ + "/vramspan-"),
                             HasSubstr("VRAMSPAN_DRIVER=" + temporary_ + "/vramspan-")));
}

// One that is still there when the run has ended, others have been killed, and the next has swept.
TEST_F(OddFolderTest, AChildThatStaysKeepsThePreload) {
  const std::string go = folder_.path() + "/go", done = folder_.path() + "/done";
  ASSERT_EQ(std::system(("mkfifo " + go + " " + done).c_str()), 0);
  const Output first = Run("-- sh -c '(read line <" + go + "; " + kPreloaded + " 2>" + done +
                           ".err; echo $? >" + done + ") >/dev/null 2>&1 & exit 3'");
  EXPECT_EQ(first.code, 3);
  EXPECT_EQ(Links(), 1u);
  EXPECT_EQ(Run("-- sh -c 'kill -KILL $$'").code, 128 + 9);
  EXPECT_EQ(Run("-- true").code, 0);
  EXPECT_EQ(Links(), 1u) << "a run leaves nothing of its own";
  std::ofstream(go) << "go\n";
  EXPECT_EQ(ReadText(done), "0\n");
  EXPECT_EQ(ReadText(done + ".err"), "");
}

TEST_F(OddFolderTest, APreloadThatIsNotThereIsSaid) {
  std::filesystem::remove(odd_ + "/lib");
  const Output none = Run("-- true");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("libvramspan_preload.so is neither at"));
}

TEST(Run, AProgramThatCannotHaveItIsSaidBeforehandWhereMoreWasAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/narrow";
  std::ofstream(path, std::ios::binary) << std::string(
                                               "\x7f"
                                               "ELF\1\1\1",
                                               7) +
                                               std::string(57, '\0');
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const std::string line =
      "vramspan run: " + path +
      " runs as without vramspan, because it is a 32-bit program, and so does what it starts\n";
  EXPECT_THAT(Launch("-- " + path).err, HasSubstr(line));
  EXPECT_THAT(Launch("--stats -- " + path).err, HasSubstr(line));
}

}  // namespace
}  // namespace vramspan
