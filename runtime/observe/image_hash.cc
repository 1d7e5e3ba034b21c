#include "runtime/observe/image_hash.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "runtime/base/mix.h"
#include "runtime/observe/readable.h"

namespace vramspan {
namespace {

constexpr size_t kBlock = size_t{64} << 10;
constexpr uint32_t kWrapperMagic = 0x466243b1;  // fatbinary_section.h of the toolkit.
constexpr uint32_t kFatMagic = 0xba55ed50;

struct Wrapper {
  uint32_t magic, version;
  const void* data;
};
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;  // Of what follows the header.
};

template <typename T>
bool Read(const void* from, T* to) {
  return ReadIfMapped(from, to, sizeof(T)) == sizeof(T);
}

uint64_t Plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}

// Where the last of its tables and sections ends. 0: that is not to be told.
uint64_t SizeOfElf(const char* image) {
  Elf64_Ehdr header;
  if (!Read(image, &header) || header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  uint64_t size = Plus(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize);
  size = std::max(size, Plus(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize));
  for (uint32_t i = 0; i < header.e_shnum && header.e_shentsize >= sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    if (size > kMostImage.value) return 0;
    if (!Read(image + header.e_shoff + uint64_t{i} * header.e_shentsize, &section)) return 0;
    if (section.sh_type == SHT_NOBITS) continue;
    size = std::max(size, Plus(section.sh_offset, section.sh_size));
  }
  return size;
}

// Four hashes of every fourth word: one would wait for a multiplication at each.
class ImageHash {
 public:
  void Add(const char* data, size_t size) {
    size_t i = 0;
    for (; i + sizeof(lanes_) <= size; i += sizeof(lanes_)) {
      for (size_t lane = 0; lane < lanes_.size(); ++lane) {
        uint64_t word;
        std::memcpy(&word, data + i + lane * sizeof(word), sizeof(word));
        Word(lane, word);
      }
    }
    for (; i < size; ++i) Word(i % lanes_.size(), static_cast<unsigned char>(data[i]));
    size_ += size;
  }
  uint64_t value() const {
    uint64_t hash = size_;
    for (const uint64_t lane : lanes_) hash = Mix(hash, lane);
    return hash == 0 ? 1 : hash;
  }

 private:
  void Word(size_t lane, uint64_t word) {
    lanes_[lane] = (std::rotl(lanes_[lane], 23) ^ word) * 0x9E3779B97F4A7C15u;
  }

  std::array<uint64_t, 4> lanes_{1, 2, 3, 4};
  uint64_t size_ = 0;
};

// `text`: it ends at a zero.
uint64_t HashOf(const char* from, uint64_t size, bool text) {
  if (size == 0 || size > kMostImage.value) return 0;
  const auto block = std::make_unique<char[]>(kBlock);
  ImageHash hash;
  while (size != 0) {
    // To the end of a block of addresses: what is behind a text may not be mapped.
    const size_t to_end = kBlock - reinterpret_cast<uintptr_t>(from) % kBlock;
    const size_t wanted = std::min<uint64_t>(size, text ? to_end : kBlock);
    size_t got = ReadIfMapped(from, block.get(), wanted);
    const void* const end = text ? std::memchr(block.get(), 0, got) : nullptr;
    if (end != nullptr) {
      hash.Add(block.get(), static_cast<size_t>(static_cast<const char*>(end) - block.get()));
      return hash.value();
    }
    if (got != wanted) return 0;
    hash.Add(block.get(), got);
    from += got;
    size -= got;
  }
  return text ? 0 : hash.value();
}

}  // namespace

const void* UnwrappedImage(const void* image) {
  Wrapper wrapper;
  uint32_t magic = 0;
  if (image == nullptr || !Read(image, &magic)) return nullptr;
  if (magic != kWrapperMagic) return image;
  return Read(image, &wrapper) ? wrapper.data : nullptr;
}

uint64_t HashOfImage(const void* image) {
  uint32_t magic = 0;
  image = UnwrappedImage(image);
  if (image == nullptr || !Read(image, &magic)) return 0;
  const char* const bytes = static_cast<const char*>(image);
  const bool text = magic != kFatMagic && std::memcmp(&magic, ELFMAG, SELFMAG) != 0;
  return HashOf(bytes, text ? kMostImage.value : SizeOfImage(image), text);
}

uint64_t SizeOfImage(const void* image) {
  uint32_t magic = 0;
  if (image == nullptr || !Read(image, &magic)) return 0;
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) return SizeOfElf(static_cast<const char*>(image));
  FatHeader header;
  if (magic != kFatMagic || !Read(image, &header)) return 0;
  return Plus(header.header_size, header.size);
}

}  // namespace vramspan
