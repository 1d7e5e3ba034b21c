#include "tests/conformance/gate.h"

#include <utility>

namespace vramspan::conformance {

bool Within(std::chrono::milliseconds time, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // leaves the processor to others
  }
  return true;
}

Gate::Gate() : word_(sizeof(uint32_t)) { OpenUpTo(0); }

Gate::~Gate() {
  OpenAll();
  World::Get().cu().CtxSynchronize();  // before the word goes
}

uint32_t Gate::Park(CUstream stream) {
  const uint32_t ticket = ++last_;
  Must(World::Get().cu().StreamWaitValue32(stream, address(), ticket, CU_STREAM_WAIT_VALUE_GEQ),
       "cuStreamWaitValue32");
  return ticket;
}

void Gate::OpenUpTo(uint32_t ticket) {
  __atomic_store_n(word_.as<uint32_t>(), ticket, __ATOMIC_RELEASE);
}

// The wait compares cyclically, so half the range is "all".
void Gate::OpenAll() { OpenUpTo(0x40000000); }

Background::Background(Gate& gate, CUcontext context, std::function<void()> work)
    : gate_(gate), thread_([this, context, work = std::move(work)] {
        try {
          const Current current(context);
          work();
        } catch (...) {
          error_ = std::current_exception();
        }
        done_.store(true);
      }) {}

Background::~Background() {
  if (!thread_.joinable()) return;
  gate_.OpenAll();
  thread_.join();
}

void Background::Finish() {
  thread_.join();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace vramspan::conformance
