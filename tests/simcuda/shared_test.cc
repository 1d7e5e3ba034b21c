// Devices that several processes share, as programs and monitors see them. This process itself uses
// no CUDA: what it knows it knows from the stand-in for NVML.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern char** environ;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr unsigned long long kMiB = 1 << 20;
constexpr int kContext = 16;
constexpr int kDevice = 256;

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

// A process of shared_program.cc.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<std::string> owned = arguments;
    owned.insert(owned.begin(), SHARED_PROGRAM);
    std::vector<char*> argv;
    for (std::string& text : owned) argv.push_back(text.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, SHARED_PROGRAM, &actions, nullptr, argv.data(), environ) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = fdopen(out[0], "r");
  }
  ~Process() {
    if (pid_ > 0) Kill();
    close(in_);
    fclose(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  std::string Line() {
    char line[64] = "";
    if (fgets(line, sizeof(line), out_) == nullptr) return "the process ended";
    return std::string(line, strcspn(line, "\n"));
  }
  void GoOn() { EXPECT_EQ(write(in_, "\n", 1), 1); }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void Kill() {
    kill(pid_, SIGKILL);
    Wait();
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  FILE* out_ = nullptr;
};

class SharedDevicesTest : public ::testing::Test {
 protected:
  // The monitor keeps to the folder that it has found first.
  static void SetUpTestSuite() {
    std::string name = (std::filesystem::temp_directory_path() / "simcuda-shared-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) abort();
    folder_ = name;
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  SharedDevicesTest() {
    setenv("SIMCUDA_SHARED_DEVICES", folder_.c_str(), 1);
    setenv("SIMCUDA_DEVICE_MEMORY", "256MiB", 1);
    setenv("SIMCUDA_DEVICES", "2", 1);
    library_ = dlopen(SIMCUDA_NVML, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    EXPECT_EQ(Call("nvmlInit_v2"), 0);
    EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 0u, &device_), 0);
  }
  ~SharedDevicesTest() override { EXPECT_EQ(Call("nvmlShutdown"), 0); }

  template <typename... Args>
  int Call(const char* name, Args... args) {
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function != nullptr ? function(args...) : -1;
  }
  int UsedMiB() {
    NvmlMemory memory{};
    EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo", device_, &memory), 0);
    EXPECT_EQ(memory.free + memory.used, memory.total);
    EXPECT_EQ(memory.total, kDevice * kMiB);
    return static_cast<int>(memory.used / kMiB);
  }
  // By process, in MiB.
  std::map<int, int> Users() {
    std::vector<NvmlProcess> infos(64);
    unsigned count = 64;
    EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, infos.data()), 0);
    std::map<int, int> users;
    for (unsigned i = 0; i < count; ++i) {
      users[static_cast<int>(infos[i].pid)] = static_cast<int>(infos[i].bytes / kMiB);
    }
    return users;
  }

  static inline std::string folder_;
  void* library_ = nullptr;
  void* device_ = nullptr;
};

TEST_F(SharedDevicesTest, HaveOneLimit) {
  EXPECT_EQ(UsedMiB(), 0);
  Process first({"alloc", "100", "wait"});
  ASSERT_EQ(first.Line(), "waits");
  Process second({"create", "64", "ask", "wait"});
  EXPECT_EQ(second.Line(), "free " + std::to_string(kDevice - 100 - 64 - 2 * kContext));
  ASSERT_EQ(second.Line(), "waits");
  EXPECT_THAT(Users(), UnorderedElementsAre(Pair(first.pid(), 100 + kContext),
                                            Pair(second.pid(), 64 + kContext)));
  EXPECT_EQ(UsedMiB(), 164 + 2 * kContext);
  EXPECT_NE(Process({"create", "62"}).Wait(), 0) << "60 MiB are left";
  Process last({"create", "60", "wait"});
  EXPECT_EQ(last.Line(), "waits");
  EXPECT_EQ(UsedMiB(), kDevice);
}

TEST_F(SharedDevicesTest, BytesComeBackHoweverAProcessEnds) {
  Process good({"alloc", "40", "wait"}), killed({"alloc", "60", "wait"});
  ASSERT_EQ(good.Line(), "waits");
  ASSERT_EQ(killed.Line(), "waits");
  EXPECT_EQ(UsedMiB(), 100 + 2 * kContext);
  killed.Kill();
  EXPECT_EQ(UsedMiB(), 40 + kContext);
  good.GoOn();
  EXPECT_EQ(good.Wait(), 0);
  EXPECT_EQ(UsedMiB(), 0);
  EXPECT_THAT(Users(), IsEmpty());
}

TEST_F(SharedDevicesTest, AProgramThatIsReplacedHasNothingOfItsFormer) {
  Process process({"alloc", "100", "exec", "create", "8", "wait"});
  ASSERT_EQ(process.Line(), "waits");
  EXPECT_THAT(Users(), ElementsAre(Pair(process.pid(), 8)));
}

TEST_F(SharedDevicesTest, AreFilledTogetherToTheBrim) {
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::make_unique<Process>(std::vector<std::string>{"fill", "wait"}));
  }
  int took = 0;
  for (const auto& process : all) {
    const std::string line = process->Line();
    ASSERT_THAT(line, ::testing::StartsWith("took "));
    took += std::stoi(line.substr(5));
  }
  EXPECT_EQ(took, kDevice);
  EXPECT_EQ(UsedMiB(), kDevice);
  all.clear();
  EXPECT_EQ(UsedMiB(), 0);
}

TEST_F(SharedDevicesTest, TheMonitorNeedsNoCudaAndSaysWhatIsWrong) {
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), 0);
  EXPECT_EQ(count, 2u);
  void* other = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 2u, &other), 2);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 1u, &other), 0);
  char uuid[96] = "";
  EXPECT_EQ(Call("nvmlDeviceGetUUID", other, &uuid[0], 40u), 7) << "no room";
  EXPECT_EQ(Call("nvmlDeviceGetUUID", other, &uuid[0], 96u), 0);
  EXPECT_STREQ(uuid, "GPU-73696d63-7564-612d-6465-766963652d01");
  void* found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &found), 0);
  EXPECT_EQ(found, other);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", "GPU-0", &found), 6);
  NvmlMemoryV2 memory{};
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", device_, &memory), 2) << "of no version";
  memory.version = sizeof(memory) | 2 << 24;
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", device_, &memory), 0);
  EXPECT_EQ(memory.total, kDevice * kMiB);
  Process process({"create", "2", "wait"});
  ASSERT_EQ(process.Line(), "waits");
  count = 0;
  NvmlProcess* none = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, none), 7);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v2", other, &count, none), 2);
  count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v2", other, &count, none), 0)
      << "the other device";
  void* nothing = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetUUID", nothing, &uuid[0], 96u), 2);
  const auto text = reinterpret_cast<const char* (*)(int)>(dlsym(library_, "nvmlErrorString"));
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text(7), "Insufficient Size");
}

TEST_F(SharedDevicesTest, AFolderThatIsNoneEndsTheProcess) {
  setenv("SIMCUDA_SHARED_DEVICES", "/nowhere", 1);
  EXPECT_EQ(Process({"create", "2"}).Wait(), 2);
  // Each has its own again.
  setenv("SIMCUDA_SHARED_DEVICES", "", 1);
  Process first({"create", "200", "wait"});
  ASSERT_EQ(first.Line(), "waits");
  EXPECT_EQ(Process({"create", "200"}).Wait(), 0);
}

}  // namespace
