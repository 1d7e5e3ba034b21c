// Images that the process loads, kept as files for `vramspan prove`: VRAMSPAN_IMAGES names the
// folder. Libraries unpack code from where no tool finds it, and compile it as programs run.
//
// The program notices nothing of it but the time that it takes: a full disk, a limit on files, a
// folder that is not there or an image that vanishes are said in one line, and leave no file.
//
// Threads: any. Other processes may keep the same images in the same folder.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

class KeptImages {
 public:
  // Of one process. What comes later is not kept.
  static constexpr Bytes kMost = GiB(8);

  // The process's own. Null: the variable names no folder.
  static KeptImages* Get();

  // A path from the root on, since the program may go elsewhere. The folder must be this user's,
  // and nobody else may write there.
  explicit KeptImages(std::string folder, Bytes most = kMost)
      : folder_(std::move(folder)), most_(most) {}

  // Writes the image as HASH.image, unless that is there. PTX is not kept: no GPU runs it as it is.
  // Nor is what was loaded from a file by its path: null. Keeps errno.
  void Keep(const void* image, uint64_t hash);
  // The same, for whoever has more to say of an error.
  Status TryToKeep(const void* image, uint64_t hash);

 private:
  const std::string folder_;
  const Bytes most_;
  std::atomic<uint64_t> kept_{0};
  std::atomic<bool> said_{false};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_KEPT_IMAGES_H_
