#ifndef VRAMSPAN_TOOLS_SIMCUDA_LINK_H_
#define VRAMSPAN_TOOLS_SIMCUDA_LINK_H_

// The bus between host and devices, where SIMCUDA_LINK gives it rates: a copy between the two
// memories then takes at least as long as its bytes do. With one copy engine both ways share it;
// with more each way has its own. Kernels, fills and copies within one memory are not slowed down.
// Thread-safe.

#include <cstddef>

#include "tools/simcuda/op.h"

namespace simcuda {

// To be called before and after the bytes of a copy are moved. Waits in the destructor, on the
// worker, until the copy's turn on the link would have ended.
class LinkTurn {
 public:
  LinkTurn(const Exec& exec, const void* src, const void* dst, size_t bytes);
  ~LinkTurn();
  LinkTurn(const LinkTurn&) = delete;
  LinkTurn& operator=(const LinkTurn&) = delete;

 private:
  const Exec& exec_;
  long long end_ns_ = 0;  // On the steady clock; 0: nothing to wait for.
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_LINK_H_
