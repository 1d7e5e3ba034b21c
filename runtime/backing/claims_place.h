// Where a claims file is: $XDG_RUNTIME_DIR/vramspan, as it was found at the start.
//
// What is known not to hang is looked up by a descriptor from then on, so nothing that is mounted
// or linked at its path later is waited for. Where the program has closed that it is found anew.
//
// Threads: one at a time. Errors: those of user_folder.h.
#ifndef VRAMSPAN_RUNTIME_BACKING_CLAIMS_PLACE_H_
#define VRAMSPAN_RUNTIME_BACKING_CLAIMS_PLACE_H_

#include <sys/stat.h>

#include <string>

#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"

namespace vramspan {

class ClaimsPlace {
 public:
  // `folder` is XDG_RUNTIME_DIR. Nothing is opened yet.
  ClaimsPlace(const std::string& folder, const std::string& name);

  // The file, made where there is none. The descriptor is the caller's.
  StatusOr<int> Open();
  // The file as it is now. False where there is none.
  bool Stat(struct stat* file) const;

  // For messages.
  const std::string& path() const { return path_; }

 private:
  StatusOr<int> Folder();  // Of this class.

  const std::string folder_, name_, path_;
  OwnDescriptor opened_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_CLAIMS_PLACE_H_
