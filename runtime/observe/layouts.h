// Where a kernel's parameters lie, by the handle that is launched (a CUkernel or a CUfunction):
// asked of the driver once, then read without a lock.
//
// A handle may name another kernel when its module is gone: whoever ends modules calls Drop, which
// forgets all layouts, since which handles were the module's is not known and asking again costs
// some hundred nanoseconds a kernel. Equal layouts are one object, kept as long as this lives, so
// that a layout in use never goes. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LAYOUTS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LAYOUTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/driver/driver.h"
#include "runtime/observe/lookup_table.h"

namespace vramspan {

// The driver takes 4 KB of parameters, since CUDA 12.1 up to 32,764 bytes.
inline constexpr size_t kMostParameterBytes = 32764;
// What a CUtensorMap is aligned to at least.
inline constexpr size_t kMapAlignment = 64;

struct Layout {
  // 8-byte slots of the parameter block, one after the other, that lie in one parameter.
  struct Run {
    uint16_t parameter;
    uint16_t slot;  // The first, counted from the start of the block.
    uint16_t count;
    uint16_t skip;  // From the start of the parameter to the first slot, in bytes.
  };
  // Where a tensor map may lie: 128 bytes of one parameter, aligned in the block.
  struct MapPlace {
    uint16_t parameter;
    uint16_t slot;
    uint16_t skip;
  };

  // Bytes of a parameter that are in no run: small numbers.
  struct Rest {
    uint16_t parameter;
    uint16_t skip;
    uint16_t size;
  };

  using Places = std::vector<std::pair<size_t, size_t>>;  // Offset and size of each parameter.

  bool known = false;  // False: the driver did not tell.
  Places places;
  std::vector<Run> runs;
  std::vector<Rest> rests;
  std::vector<MapPlace> maps;

  // Which parameter has all of these bytes of the block; nothing where none does.
  std::optional<size_t> ParameterWith(size_t at, size_t size) const;
};

class Layouts {
 public:
  explicit Layouts(const Driver& driver) : driver_(driver) {}

  const Layout& Of(const void* kernel) {
    const LookupTable::Value found = table_.Find(reinterpret_cast<uintptr_t>(kernel));
    return found ? *reinterpret_cast<const Layout*>(found.first) : Learn(kernel);
  }
  void Drop() VS_EXCLUDES(mu_);

 private:
  using Places = Layout::Places;

  const Layout& Learn(const void* kernel) VS_EXCLUDES(mu_);
  bool Ask(const void* kernel, Places* places) const;

  const Driver& driver_;
  LookupTable table_;  // Of addresses of layouts; written under mu_.
  Mutex mu_;
  uint64_t drops_ VS_GUARDED_BY(mu_) = 0;
  std::map<Places, std::unique_ptr<const Layout>> layouts_ VS_GUARDED_BY(mu_);
  const Layout unknown_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_LAYOUTS_H_
