// Two processes that read each other's memory in turn, told by flags that each sets in the other's:
// what inference engines do in place of a library's all-reduce.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/preload/program_ipc.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / sizeof(unsigned long long);
constexpr size_t kSignals = 4096;
constexpr CUdeviceptr kStart = 0, kEnd = 128;  // In the signals.
constexpr size_t kOthers = 14;
constexpr unsigned kRounds = 6;
constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

struct Handles {
  CUipcMemHandle data, signals;
};

class Rank {
 public:
  Rank(Program* p, int peer, unsigned number) : p_(*p), peer_(peer), number_(number) {}

  void Run() {
    Open();
    for (unsigned round = 1; round <= kRounds; ++round) {
      p_.Launch(p_.fill_hash, data_, kWords, SeedOf(number_, round));
      Meet(kStart, round);
      Copy(gathered_, peer_data_);
      Meet(kEnd, round);
      for (const CUdeviceptr b : others_) p_.Launch(p_.add_constant, b, kWords, 1);
      CHECK_OK(p_.api.StreamSynchronize(p_.stream));
      Check(gathered_, SeedOf(1 - number_, round), 0);
    }
    CHECK(*gave_up_ == 0);
    for (size_t i = 0; i < kOthers; ++i) Check(others_[i], i, kRounds);
    CHECK_OK(p_.api.IpcCloseMemHandle(peer_data_));
    CHECK_OK(p_.api.IpcCloseMemHandle(peer_signals_));
    // Neither frees what the other still has open.
    Tell(peer_, 'y');
    Hear<char>(peer_);
    CHECK_OK(p_.api.MemFree(data_));
    CHECK_OK(p_.api.MemFree(signals_));
  }

 private:
  static unsigned long long SeedOf(unsigned number, unsigned round) { return 10 * round + number; }

  void Open() {
    const Api& api = p_.api;
    p_.Start();
    CHECK_OK(api.ModuleGetFunction(&copy_, p_.module, "copy"));
    CHECK_OK(api.ModuleGetFunction(&set_flag_, p_.module, "set_flag"));
    CHECK_OK(api.ModuleGetFunction(&spin_, p_.module, "spin_until_or_give_up"));
    CHECK_OK(api.MemHostAlloc(reinterpret_cast<void**>(&gave_up_), 4096, 0));
    *gave_up_ = 0;
    CHECK_OK(api.MemAlloc(&data_, kBytes));
    CHECK_OK(api.MemAlloc(&gathered_, kBytes));
    CHECK_OK(api.MemAlloc(&signals_, kSignals));
    CHECK_OK(api.MemsetD8(signals_, 0, kSignals));
    for (CUdeviceptr& b : others_) CHECK_OK(api.MemAlloc(&b, kBytes));
    for (size_t i = 0; i < kOthers; ++i) p_.Launch(p_.fill_hash, others_[i], kWords, i);
    CHECK_OK(api.CtxSynchronize());
    Handles mine;
    CHECK_OK(api.IpcGetMemHandle(&mine.data, data_));
    CHECK_OK(api.IpcGetMemHandle(&mine.signals, signals_));
    Tell(peer_, mine);
    const Handles given = Hear<Handles>(peer_);
    CHECK_OK(api.IpcOpenMemHandle(&peer_data_, given.data, kFlags));
    CHECK_OK(api.IpcOpenMemHandle(&peer_signals_, given.signals, kFlags));
  }
  // Both have come here, as far as the stream is concerned.
  void Meet(CUdeviceptr where, unsigned round) {
    CUdeviceptr there = peer_signals_ + where, here = signals_ + where;
    void* set[] = {&there, &round};
    CHECK_OK(p_.api.LaunchKernel(set_flag_, 1, 1, 1, 1, 1, 1, 0, p_.stream, set, nullptr));
    long long cycles = 200'000'000'000;
    void* spin[] = {&here, &round, &cycles, &gave_up_};
    CHECK_OK(p_.api.LaunchKernel(spin_, 1, 1, 1, 1, 1, 1, 0, p_.stream, spin, nullptr));
  }
  void Copy(CUdeviceptr to, CUdeviceptr from) {
    size_t count = kWords;
    void* params[] = {&to, &from, &count};
    CHECK_OK(p_.api.LaunchKernel(copy_, 16, 1, 1, 64, 1, 1, 0, p_.stream, params, nullptr));
  }
  void Check(CUdeviceptr at, unsigned long long seed, unsigned long long more) {
    std::vector<unsigned long long> words(kWords);
    CHECK_OK(p_.api.MemcpyDtoH(words.data(), at, kBytes));
    for (size_t w = 0; w < kWords; ++w) CHECK(words[w] == Program::Word(w, seed) + more);
  }

  Program& p_;
  const int peer_;
  const unsigned number_;
  CUfunction copy_ = nullptr, set_flag_ = nullptr, spin_ = nullptr;
  CUdeviceptr data_ = 0, gathered_ = 0, signals_ = 0, peer_data_ = 0, peer_signals_ = 0;
  CUdeviceptr others_[kOthers] = {};
  unsigned* gave_up_ = nullptr;
};

}  // namespace

void ReduceByIpc(Program* p) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  const bool is_child = child == 0;
  close(ends[is_child ? 0 : 1]);
  Rank(p, ends[is_child ? 1 : 0], is_child ? 1 : 0).Run();
  if (is_child) std::exit(0);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
