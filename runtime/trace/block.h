// Blocks and the header as they lie in the file.
#ifndef VRAMSPAN_RUNTIME_TRACE_BLOCK_H_
#define VRAMSPAN_RUNTIME_TRACE_BLOCK_H_

#include <absl/types/span.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/trace/events.h"
#include "runtime/trace/format.h"

namespace vramspan::trace {

// The file's first frame.
std::string PackHeader(const Header& header);
// Reads the frame that `bytes` begin with, and how many of them it takes. FailedPrecondition: this
// is no trace, or one of another byte order or a newer version; the sentence says which.
StatusOr<Header> UnpackHeader(std::string_view bytes, size_t* taken);

// Compresses; one for each thread that does.
class BlockPacker {
 public:
  BlockPacker();
  ~BlockPacker();
  BlockPacker(const BlockPacker&) = delete;
  BlockPacker& operator=(const BlockPacker&) = delete;

  // Both frames of a block, valid until the next call. Sets raw_bytes and packed_bytes.
  StatusOr<absl::Span<const char>> Pack(BlockHeader header, absl::Span<const uint8_t> raw);

 private:
  void* context_;
  std::vector<char> out_;
};

// The block's header from the frame at the start of `bytes`. DataLoss where there is none, or its
// checksum is wrong; OutOfRange where `bytes` end too soon.
StatusOr<BlockHeader> UnpackBlockHeader(std::string_view bytes);
inline constexpr size_t kBlockFrontBytes = 8 + kBlockHeaderBytes;
// The block's events' bytes from its zstd frame. DataLoss says what is wrong.
Status UnpackBlock(const BlockHeader& header, std::string_view packed, std::vector<uint8_t>* raw);
// The next place in `bytes`, from `from` on, at which a block may begin; npos if there is none.
size_t FindBlock(std::string_view bytes, size_t from);

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_BLOCK_H_
