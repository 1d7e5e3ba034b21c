#ifndef VRAMSPAN_TESTS_LEASE_FAKE_MEMBER_H_
#define VRAMSPAN_TESTS_LEASE_FAKE_MEMBER_H_

#include <chrono>

#include "runtime/base/mutex.h"
#include "runtime/lease/client.h"

namespace vramspan_test {

using vramspan::Bytes;
using vramspan::CondVar;
using vramspan::Mutex;
using vramspan::MutexLock;
using vramspan::lease::Memory;
using vramspan::lease::ProcessPage;
using vramspan::lease::Standing;

inline constexpr std::array<uint8_t, 16> kDevice = {9, 8, 7};

// A process with no memory: what it has is what the test says.
class FakeMember final : public vramspan::lease::Member {
 public:
  void Stands(const Standing& standing) override {
    MutexLock lock(mu_);
    standing_ = standing;
    changed_.NotifyAll();
  }
  Bytes Most(Memory memory) override {
    MutexLock lock(mu_);
    return memory == Memory::kHost ? most_host_ : most_device_;
  }
  ProcessPage Page() override {
    MutexLock lock(mu_);
    return page_;
  }
  void Has(Bytes device, Bytes host) {
    MutexLock lock(mu_);
    most_device_ = device;
    most_host_ = host;
  }
  void Says(const ProcessPage& page) {
    MutexLock lock(mu_);
    page_ = page;
  }
  template <typename Is>
  bool Await(Is is) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    MutexLock lock(mu_);
    while (!is(standing_)) {
      if (std::chrono::steady_clock::now() > until) return false;
      changed_.WaitFor(mu_, std::chrono::milliseconds(50));
    }
    return true;
  }
  Standing standing() {
    MutexLock lock(mu_);
    return standing_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  Standing standing_ VS_GUARDED_BY(mu_);
  Bytes most_device_ VS_GUARDED_BY(mu_), most_host_ VS_GUARDED_BY(mu_);
  ProcessPage page_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_LEASE_FAKE_MEMBER_H_
