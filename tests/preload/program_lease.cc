// A program that does what it is told on its standard input, so that a test can share the device
// out meanwhile. Each line is answered by one, "done" where nothing else is to be said.
//
//   device N    another device, from here on
//   alloc N     N buffers more, each with words of its own
//   try N       the same, "no" and the driver's code where one cannot be had
//   work N      N rounds of adding to all of them
//   check       every word of every buffer
//   free        all of them
//   info        what is free, and the total, in MiB
//   others      the codes of a pitched, a managed and an array's allocation
//   optix       makes a context of the OptiX that PROGRAM_OPTIX names
//   close       all descriptors but the first three and the driver's, each by its number, on a
//               thread of its own while this one works
//   closefrom   the same, by close_range and closefrom
//   fork        a child, which ends
//   forkexit    a child, which ends by exit()
//   exec        it becomes cat, which says what it is told
//   end
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kBuffer = 4 * kMiB;
constexpr size_t kWords = kBuffer / sizeof(unsigned long long);

class Told {
 public:
  explicit Told(Program* p) : p_(*p) {}

  std::string Do(const std::string& what, int n) {
    if (what == "device") return UseDevice(n);
    if (what == "alloc" || what == "try") return Allocate(n, what == "try");
    if (what == "work") return Work(n);
    if (what == "check") return Check();
    if (what == "free") return Free();
    if (what == "info") return Info();
    if (what == "others") return Others();
    if (what == "optix") return UseOptix();
    if (what == "close" || what == "closefrom") return Close(what == "close");
    if (what == "fork" || what == "forkexit") {
      const pid_t child = fork();
      if (child == 0) what == "fork" ? _exit(0) : std::exit(0);
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
      return "done";
    }
    if (what == "exec") {
      std::cout << "done" << std::endl;
      execl("/bin/cat", "cat", nullptr);
    }
    Fail("what is " + what);
  }

 private:
  struct Buffer {
    CUdeviceptr at;
    unsigned long long seed, added;
  };

  std::string UseDevice(int n) {
    CHECK(buffers_.empty());
    CHECK_OK(p_.api.DeviceGet(&p_.device, n));
    CHECK_OK(p_.api.PrimaryRetain(&p_.context, p_.device));
    CHECK_OK(p_.api.CtxSetCurrent(p_.context));
    p_.LoadKernels();
    return "done";
  }
  std::string Allocate(int n, bool may_fail) {
    for (int i = 0; i < n; ++i) {
      Buffer b{0, ++seed_, 0};
      const CUresult result = p_.api.MemAlloc(&b.at, kBuffer);
      if (result != CUDA_SUCCESS && may_fail) return "no " + std::to_string(result);
      CHECK_OK(result);
      p_.Launch(p_.fill_hash, b.at, kWords, b.seed);
      buffers_.push_back(b);
    }
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    return "done";
  }
  std::string Work(int n) {
    for (int round = 0; round < n; ++round) {
      for (Buffer& b : buffers_) {
        p_.Launch(p_.add_constant, b.at, kWords, 1);
        ++b.added;
      }
    }
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    return "done";
  }
  std::string Check() {
    std::vector<unsigned long long> back(kWords);
    for (const Buffer& b : buffers_) {
      CHECK_OK(p_.api.MemcpyDtoH(back.data(), b.at, kBuffer));
      for (size_t w = 0; w < kWords; ++w) {
        if (back[w] != Program::Word(w, b.seed) + b.added) {
          Fail("word " + std::to_string(w) + " of buffer " + std::to_string(b.seed) + " is wrong");
        }
      }
    }
    return "done";
  }
  std::string Free() {
    for (const Buffer& b : buffers_) CHECK_OK(p_.api.MemFree(b.at));
    buffers_.clear();
    return "done";
  }
  std::string Info() {
    size_t free = 0, total = 0;
    CHECK_OK(p_.api.MemGetInfo(&free, &total));
    return std::to_string(free / kMiB) + " " + std::to_string(total / kMiB);
  }

  std::string Others() {
    const auto code = [](const char* of, CUresult result) {
      return std::string(of) + " " + std::to_string(result);
    };
    CUdeviceptr p = 0;
    size_t pitch = 0;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto create =
        reinterpret_cast<decltype(&::cuArrayCreate_v2)>(dlsym(driver, "cuArrayCreate_v2"));
    CHECK(create != nullptr);
    const CUDA_ARRAY_DESCRIPTOR d{64, 64, CU_AD_FORMAT_FLOAT, 1};
    CUarray array = nullptr;
    return code("pitched", p_.api.MemAllocPitch(&p, &pitch, 64, 64, 4)) + ", " +
           code("managed", p_.api.MemAllocManaged(&p, kMiB, CU_MEM_ATTACH_GLOBAL)) + ", " +
           code("array", create(&array, &d));
  }
  std::string UseOptix() {
    void* const library = dlopen(std::getenv("PROGRAM_OPTIX"), RTLD_NOW);
    CHECK(library != nullptr);
    const auto query = reinterpret_cast<int (*)(int, unsigned, int*, const void**, void*, size_t)>(
        dlsym(library, "optixQueryFunctionTable"));
    void* table[4] = {};
    CHECK(query(118, 0, nullptr, nullptr, table, sizeof(table)) == 0);
    void* context = nullptr;
    CHECK(reinterpret_cast<int (*)(CUcontext, const void*, void**)>(table[2])(p_.context, nullptr,
                                                                              &context) == 0);
    return "done";
  }
  // No driver lives without its own: they stay.
  static bool IsDrivers(int descriptor) {
    char to[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (readlink(link.c_str(), to, sizeof(to) - 1) <= 0) return false;
    const char* const shared = std::getenv("SIMCUDA_SHARED_DEVICES");
    return std::string_view(to).starts_with("/memfd:simcuda") ||
           (shared != nullptr && std::string_view(to).starts_with(shared));
  }
  std::string Close(bool by_number) {
    std::thread closes([by_number] {
      for (int i = 3; i < 1100; ++i) {
        if (IsDrivers(i)) continue;
        if (by_number) {
          close(i);
          continue;
        }
        const int first = i;
        while (i < 1100 && !IsDrivers(i)) ++i;
        // The last is all that there is.
        if (i == 1100) {
          closefrom(first);
        } else {
          CHECK(close_range(static_cast<unsigned>(first), static_cast<unsigned>(i - 1), 0) == 0);
        }
      }
    });
    Work(5);
    closes.join();
    return "done";
  }

  Program& p_;
  unsigned long long seed_ = 0;
  std::vector<Buffer> buffers_;
};

}  // namespace

namespace {

// All of several threads at once; the code of those that do not agree is -1.
CUresult InitByThreads(const Program& p) {
  std::atomic<bool> go{false};
  std::array<CUresult, 8> results{};
  std::vector<std::thread> threads;
  for (CUresult& result : results) {
    threads.emplace_back([&go, &result, &p] {
      while (!go) continue;
      result = p.api.Init(0);
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  const bool same = std::all_of(results.begin(), results.end(),
                                [&](CUresult result) { return result == results[0]; });
  return same ? results[0] : static_cast<CUresult>(-1);
}

}  // namespace

void DoAsTold(Program* p) {
  const CUresult init = InitByThreads(*p);
  if (init != CUDA_SUCCESS) {
    std::cout << "init " << init << std::endl;
    std::exit(1);
  }
  p->Start();
  p->LoadKernels();
  Told told(p);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    std::istringstream words(line);
    std::string what;
    int n = 0;
    words >> what >> n;
    std::cout << told.Do(what, n) << std::endl;
  }
}
