// A file read as a stream of bytes, packed or not: which of them its first bytes say.
#ifndef VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_
#define VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>

#include "runtime/base/status.h"
#include "tools/replay/packing.h"

namespace vramspan::replay {

class TextSource : public std::streambuf {
 public:
  // Unpacks gzip and zstd, whatever the file is called, one member behind the other.
  // FailedPrecondition, with the command that unpacks it, for what is packed otherwise. Ends, with
  // an error in status(), after `most` bytes (of what the file says, unpacked), or fewer where that
  // is 64 MiB and a hundred times what is packed, where the file cannot be read, and where what is
  // packed is damaged. NotFound where there is no such file.
  static StatusOr<std::unique_ptr<TextSource>> Open(const std::string& path, uint64_t most);
  ~TextSource() override = default;

  // OK at the end of a file that was read whole, and before. Names the file.
  virtual const Status& status() const = 0;
  // At the end: why what was read is not all of it, though nothing of it is wrong, in a sentence
  // that does not name the file. Packed data are cut short, or followed by something else (zeros do
  // not count: tapes and copies leave them). Empty where nothing is missing.
  virtual const std::string& loss() const = 0;
  // How the file is packed.
  virtual Packing packing() const = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TEXT_SOURCE_H_
