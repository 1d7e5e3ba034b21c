// An open file without a name, to be given to a child.
#ifndef VRAMSPAN_TOOLS_PROVE_NAMELESS_FILE_H_
#define VRAMSPAN_TOOLS_PROVE_NAMELESS_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::prove {

class NamelessFile {
 public:
  // In memory, or in the folder for temporary files.
  explicit NamelessFile(bool in_memory);
  ~NamelessFile();
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  // ResourceExhausted: there is none.
  Status status() const;
  int fd() const { return fd_; }
  const std::string& place() const { return place_; }  // Where it lies, for sentences.
  // ResourceExhausted: not all of it was written.
  Status Write(std::string_view bytes) const;
  std::string FirstLine() const;
  // Whether what was written may have had no room: the file has `most` bytes, or no block is free
  // where it lies.
  bool MayBeCut(uint64_t most) const;

 private:
  int fd_ = -1;
  std::string place_, why_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_NAMELESS_FILE_H_
