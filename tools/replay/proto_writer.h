// Writes messages in Protocol Buffers' wire format, field by field
// (protobuf.dev/programming-guides/encoding). Fields are named by number.
#ifndef VRAMSPAN_TOOLS_REPLAY_PROTO_WRITER_H_
#define VRAMSPAN_TOOLS_REPLAY_PROTO_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vramspan::replay {

class ProtoWriter {
 public:
  // int32, int64, uint32, uint64, bool, enum.
  ProtoWriter& Number(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3);
    Varint(value);
    return *this;
  }
  ProtoWriter& Fixed(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  // string, bytes, and messages within.
  ProtoWriter& Bytes(uint32_t field, std::string_view value) {
    Varint(uint64_t{field} << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoWriter& Message(uint32_t field, const ProtoWriter& value) {
    return Bytes(field, value.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PROTO_WRITER_H_
