// The two pages of a lease, mapped: ours, which the broker reads, and the broker's, which we read.
//
// A child of fork has neither. Threads: one.
#ifndef VRAMSPAN_RUNTIME_LEASE_SHARED_PAGES_H_
#define VRAMSPAN_RUNTIME_LEASE_SHARED_PAGES_H_

#include <cstdint>
#include <span>

#include "runtime/lease/pages.h"

namespace vramspan::lease {

class SharedPages {
 public:
  SharedPages() = default;
  ~SharedPages() { Drop(); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  // Maps what came with `welcome`. False, and none is mapped, where these are not two memfds of a
  // page that nobody can shrink. The descriptors stay the caller's.
  bool Take(std::span<const int> descriptors);
  void Drop();
  bool mapped() const { return ours_ != nullptr; }

  // REQUIRES: mapped.
  void Write(const ProcessPage& page);
  // False: the broker has written nothing that is understood.
  bool Read(BrokerPage* page) const;

 private:
  uint64_t* ours_ = nullptr;
  const uint64_t* theirs_ = nullptr;
};

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_SHARED_PAGES_H_
