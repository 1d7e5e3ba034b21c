// A file read as a stream of bytes, gzip or not: which of them its first bytes say.
#ifndef VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_
#define VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::replay {

class TextSource : public std::streambuf {
 public:
  // Ends, with an error in status(), after `most` bytes (of what the file says, unpacked), or fewer
  // where that is 64 MiB and a hundred times what is packed, where
  // the file cannot be read, and where what is packed is damaged or cut short. NotFound where there
  // is no such file.
  static StatusOr<std::unique_ptr<TextSource>> Open(const std::string& path, uint64_t most);
  ~TextSource() override = default;

  // OK at the end of a file that was read whole, and before. Names the file.
  virtual const Status& status() const = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_
