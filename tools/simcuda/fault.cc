#include "tools/simcuda/fault.h"

#include <signal.h>
#include <ucontext.h>

#include <cstring>
#include <mutex>

#include "tools/simcuda/memory/touch_counter.h"

namespace simcuda {
namespace {

// Where a fault of this thread goes; null: not ours. Initial-exec, because a signal handler must
// not run the allocation that a first access in the dynamic model may need.
__attribute__((tls_model("initial-exec"))) thread_local sigjmp_buf* fault_target = nullptr;

struct sigaction previous_segv;
struct sigaction previous_bus;

#if defined(__x86_64__)
// Of the processor's page fault error code.
constexpr greg_t kWriteAccess = 2;

bool IsWrite(const void* ucontext) {
  const auto* context = static_cast<const ucontext_t*>(ucontext);
  return (context->uc_mcontext.gregs[REG_ERR] & kWriteAccess) != 0;
}
#else
// Of the exception syndrome, which is one of the records that the kernel leaves behind the
// registers.
constexpr uint64_t kWriteAccess = 1 << 6;

bool IsWrite(const void* ucontext) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
  for (size_t at = 0; at < sizeof(machine.__reserved);) {
    _aarch64_ctx record;
    memcpy(&record, machine.__reserved + at, sizeof(record));
    if (record.magic == ESR_MAGIC) {
      esr_context syndrome;
      memcpy(&syndrome, machine.__reserved + at, sizeof(syndrome));
      return (syndrome.esr & kWriteAccess) != 0;
    }
    if (record.magic == 0 || record.size == 0) break;
    at += record.size;
  }
  return false;
}
#endif

void HandleFault(int signal, siginfo_t* info, void* ucontext) {
  if (signal == SIGSEGV && memory::TouchCounter::Get().Touched(info->si_addr, IsWrite(ucontext))) {
    return;
  }
  if (fault_target != nullptr) {
    sigjmp_buf* target = fault_target;
    fault_target = nullptr;
    siglongjmp(*target, 1);
  }
  const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, ucontext);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // The access faults again when this returns, then with the default action.
    struct sigaction fallback;
    memset(&fallback, 0, sizeof(fallback));
    fallback.sa_handler = SIG_DFL;
    sigaction(signal, &fallback, nullptr);
  } else {
    previous.sa_handler(signal);
  }
}

}  // namespace

void InstallFaultHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    memory::TouchCounter::Get();  // Not for the first time in the handler.
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = HandleFault;
    // SA_NODEFER: the handler is left by a jump that does not restore the mask.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, nullptr, &previous_segv);
    sigaction(SIGBUS, nullptr, &previous_bus);
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
  });
}

CUresult RunGuarded(const Op& op, const Exec& exec) {
  sigjmp_buf target;
  if (sigsetjmp(target, 0) != 0) return CUDA_ERROR_ILLEGAL_ADDRESS;
  fault_target = &target;
  const CUresult result = op.Run(exec);
  fault_target = nullptr;
  return result;
}

bool ReadWordGuarded(CUdeviceptr address, bool wide, uint64_t* value) {
  sigjmp_buf target;
  sigjmp_buf* const outer = fault_target;
  if (sigsetjmp(target, 0) != 0) {
    fault_target = outer;
    return false;
  }
  fault_target = &target;
  if (wide) {
    *value = __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE);
  } else {
    *value = __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
  }
  fault_target = outer;
  return true;
}

FaultGuardPause::FaultGuardPause() : saved_(fault_target) { fault_target = nullptr; }
FaultGuardPause::~FaultGuardPause() { fault_target = saved_; }

}  // namespace simcuda
