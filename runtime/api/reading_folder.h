// The folder in which a program and the reader beside it meet (code_reading.h), opened once: what
// has its name later may be somebody else's.
//
// Threads: one.
#ifndef VRAMSPAN_RUNTIME_API_READING_FOLDER_H_
#define VRAMSPAN_RUNTIME_API_READING_FOLDER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"

namespace vramspan {

class ReadingFolder {
 public:
  // PermissionDenied: others may write there, and would decide what is trusted.
  Status Open(const std::string& path);
  // Whether a tenth of its file system is free.
  bool HasRoom() const;
  // NotFound: it is gone. Appends to the file in one piece.
  Status Append(const char* name, std::string_view text) const;
  // What the file has from `offset` on, 64 KiB at most.
  StatusOr<std::string> Read(const char* name, size_t offset) const;

 private:
  // A regular file of this user's.
  Status OpenFile(const char* name, int flags, OwnDescriptor* file) const;

  OwnDescriptor folder_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_READING_FOLDER_H_
