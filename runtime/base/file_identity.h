// What an open descriptor stands for. Numbers of descriptors are the process's, handed out again as
// soon as anybody closes one: what was opened is known by this and not by its number.
#ifndef VRAMSPAN_RUNTIME_BASE_FILE_IDENTITY_H_
#define VRAMSPAN_RUNTIME_BASE_FILE_IDENTITY_H_

#include <sys/types.h>

namespace vramspan {

struct FileIdentity {
  bool open = false;
  dev_t device = 0;
  ino_t inode = 0;  // Of a pipe or a socket: no other has had it since the machine started.
  mode_t kind = 0;  // S_IFREG, S_IFSOCK and so on.

  // Of what the number stands for now. Keeps errno.
  static FileIdentity Of(int descriptor);
  // What is not open is equal to nothing.
  bool operator==(const FileIdentity& other) const {
    return open && other.open && device == other.device && inode == other.inode &&
           kind == other.kind;
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_FILE_IDENTITY_H_
