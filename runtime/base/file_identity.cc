#include "runtime/base/file_identity.h"

#include <sys/stat.h>

#include <cerrno>

namespace vramspan {

FileIdentity FileIdentity::Of(int descriptor) {
  const int error = errno;
  struct stat found;
  FileIdentity identity;
  if (descriptor >= 0 && fstat(descriptor, &found) == 0) {
    identity = {true, found.st_dev, found.st_ino, found.st_mode & S_IFMT};
  }
  errno = error;
  return identity;
}

}  // namespace vramspan
