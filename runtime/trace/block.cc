#include "runtime/trace/block.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace vramspan::trace {
namespace {

constexpr int kLevel = 1;

template <typename T>
void Put(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// REQUIRES: the bytes are there.
template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<uint8_t>(bytes[at + i])) << (8 * i));
  }
  return value;
}

uint32_t Checksum(std::string_view bytes) {
  uint32_t sum = 2166136261u;
  for (const char byte : bytes) sum = (sum ^ static_cast<uint8_t>(byte)) * 16777619u;
  return sum;
}

// A line is `key=value`; a backslash stands before what would end or break it.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (c != '\0') {
      out += c;
    }
  }
  return out;
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out += text[++i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

// Both ways through the same list, so that they cannot differ.
template <typename Header, typename Visit>
void VisitFields(Header& h, Visit visit) {
  visit("pid", h.pid);
  visit("began_unix_ns", h.began_unix_ns);
  visit("program", h.program);
  visit("device", h.device);
  visit("device_uuid", h.device_uuid);
  visit("device_memory", h.device_memory);
  visit("device_budget", h.device_budget);
  visit("host_budget", h.host_budget);
  visit("policy", h.policy);
  visit("overlap", h.overlap);
  visit("times", h.times);
  visit("chunk_log2", h.chunk_log2);
  visit("serve_gb_per_s", h.serve_gb_per_s);
  visit("move_gb_per_s", h.move_gb_per_s);
  visit("device_gb_per_s", h.device_gb_per_s);
  visit("source", h.source);
  visit("waits", h.waits);
  visit("possible", h.possible);
  visit("trust", h.trust);
}

std::string Text(const std::string& value) { return Escaped(value); }
std::string Text(const Bytes& value) { return absl::StrCat(value.value); }
template <typename Number>
std::string Text(const Number& value) {
  return absl::StrCat(value);
}

bool Parse(std::string_view text, std::string* value) {
  *value = Unescaped(text);
  return true;
}
bool Parse(std::string_view text, Bytes* value) { return absl::SimpleAtoi(text, &value->value); }
bool Parse(std::string_view text, double* value) {
  return absl::SimpleAtod(text, value) && *value >= 0 && *value < 1e9;
}
bool Parse(std::string_view text, uint64_t* value) { return absl::SimpleAtoi(text, value); }
// A flag, or a power of two.
bool Parse(std::string_view text, int* value) {
  return absl::SimpleAtoi(text, value) && *value >= 0 && *value < 64;
}

Status NoTrace(std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("this is not a vramspan trace: ", why));
}

}  // namespace

std::string PackHeader(const Header& header) {
  std::string body(kFileMark, sizeof(kFileMark));
  Put(&body, kVersion);
  Put(&body, kByteOrder);
  VisitFields(header, [&](const char* key, const auto& value) {
    const std::string line = absl::StrCat(key, "=", Text(value), "\n");
    // A command line may be longer than anybody would read.
    if (body.size() + line.size() < kMostHeader) {
      body += line;
    } else if (body.size() + std::strlen(key) + 256 < kMostHeader) {
      body += absl::StrCat(line.substr(0, 128), "\n");
    }
  });
  std::string frame;
  Put(&frame, kHeaderFrame);
  Put(&frame, static_cast<uint32_t>(body.size()));
  return frame + body;
}

StatusOr<Header> UnpackHeader(std::string_view bytes, size_t* taken) {
  constexpr size_t kFixed = 8 + sizeof(kFileMark) + 4;
  if (bytes.size() < kFixed) {
    return NoTrace(absl::StrCat("it has ", bytes.size(), " bytes, fewer than a header takes"));
  }
  if (std::memcmp(bytes.data() + 8, kFileMark, sizeof(kFileMark)) != 0) {
    return NoTrace("it does not have \"VRAMSPAN\" at byte 8; `vramspan run --record` writes one");
  }
  const auto order = Get<uint16_t>(bytes, kFixed - 2);
  const bool swapped = order == static_cast<uint16_t>(kByteOrder << 8 | kByteOrder >> 8);
  if (swapped || Get<uint32_t>(bytes, 0) != kHeaderFrame) {
    return absl::FailedPreconditionError(
        "a machine of the other byte order wrote this trace (at byte 18); read it on such a "
        "machine");
  }
  if (order != kByteOrder) return NoTrace("its byte order (at byte 18) is unknown");
  const auto version = Get<uint16_t>(bytes, kFixed - 4);
  if (version == 0 || version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this trace is of version ", version, " (at byte 16) and this vramspan reads up to ",
        kVersion, "; use the vramspan that wrote it, or a newer one"));
  }
  const auto size = Get<uint32_t>(bytes, 4);
  if (size > kMostHeader || size < kFixed - 8) {
    return NoTrace(absl::StrCat("its header claims ", size, " bytes (at byte 4)"));
  }
  if (bytes.size() < 8 + size_t{size}) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this trace was cut within its header: ", bytes.size(), " of ", 8 + size_t{size},
        " bytes are there, and nothing of the run; record it again"));
  }
  Header header;
  header.version = version;
  *taken = 8 + size_t{size};
  std::string_view text = bytes.substr(kFixed, *taken - kFixed);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view bad;
    VisitFields(header, [&](const char* key, auto& value) {
      if (line.substr(0, equals) == key && !Parse(line.substr(equals + 1), &value)) bad = key;
    });
    if (!bad.empty()) return NoTrace(absl::StrCat("its header has a wrong value for ", bad));
  }
  return header;
}

BlockPacker::BlockPacker() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) return;
  auto* const c = static_cast<ZSTD_CCtx*>(context_);
  ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
}

BlockPacker::~BlockPacker() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

StatusOr<absl::Span<const char>> BlockPacker::Pack(BlockHeader header,
                                                   absl::Span<const uint8_t> raw) {
  if (context_ == nullptr) {
    return absl::ResourceExhaustedError("there is no memory to compress the trace");
  }
  out_.resize(kBlockFrontBytes + ZSTD_compressBound(raw.size()));
  const size_t packed =
      ZSTD_compress2(static_cast<ZSTD_CCtx*>(context_), out_.data() + kBlockFrontBytes,
                     out_.size() - kBlockFrontBytes, raw.data(), raw.size());
  if (ZSTD_isError(packed) != 0) {
    return absl::InternalError(
        absl::StrCat("a trace block could not be compressed: ", ZSTD_getErrorName(packed)));
  }
  header.raw_bytes = static_cast<uint32_t>(raw.size());
  header.packed_bytes = static_cast<uint32_t>(packed);
  std::string front;
  Put(&front, kBlockFrame);
  Put(&front, static_cast<uint32_t>(kBlockHeaderBytes));
  front.append(kBlockMark, sizeof(kBlockMark));
  Put(&front, header.number);
  Put(&front, header.thread);
  Put(&front, header.events);
  Put(&front, header.raw_bytes);
  Put(&front, header.packed_bytes);
  Put(&front, header.first_time);
  Put(&front, Checksum(front));
  std::memcpy(out_.data(), front.data(), front.size());
  return absl::MakeConstSpan(out_).first(front.size() + packed);
}

StatusOr<BlockHeader> UnpackBlockHeader(std::string_view bytes) {
  if (bytes.size() < kBlockFrontBytes)
    return absl::OutOfRangeError("it ends inside a block's header");
  if (FindBlock(bytes.substr(0, 12), 0) != 0) return absl::DataLossError("no block begins here");
  if (Get<uint32_t>(bytes, kBlockFrontBytes - 4) !=
      Checksum(bytes.substr(0, kBlockFrontBytes - 4))) {
    return absl::DataLossError("a block's header does not fit its checksum");
  }
  BlockHeader h;
  h.number = Get<uint32_t>(bytes, 12);
  h.thread = Get<uint32_t>(bytes, 16);
  h.events = Get<uint32_t>(bytes, 20);
  h.raw_bytes = Get<uint32_t>(bytes, 24);
  h.packed_bytes = Get<uint32_t>(bytes, 28);
  h.first_time = Get<uint64_t>(bytes, 32);
  if (h.raw_bytes > kMostBlock || h.packed_bytes > kMostBlock) {
    return absl::DataLossError(absl::StrCat("a block claims ", h.raw_bytes,
                                            " bytes, which is more than a block may have"));
  }
  return h;
}

Status UnpackBlock(const BlockHeader& header, std::string_view packed, std::vector<uint8_t>* raw) {
  raw->resize(header.raw_bytes);
  const size_t got = ZSTD_decompress(raw->data(), raw->size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0) {
    return absl::DataLossError(
        absl::StrCat("a block's contents are damaged: ", ZSTD_getErrorName(got)));
  }
  if (got != header.raw_bytes) return absl::DataLossError("a block is shorter than it claims");
  return absl::OkStatus();
}

size_t FindBlock(std::string_view bytes, size_t from) {
  std::string mark;
  Put(&mark, kBlockFrame);
  Put(&mark, static_cast<uint32_t>(kBlockHeaderBytes));
  mark.append(kBlockMark, sizeof(kBlockMark));
  return bytes.find(mark, from);
}

}  // namespace vramspan::trace
