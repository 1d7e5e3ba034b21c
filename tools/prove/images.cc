#include "tools/prove/images.h"

#include <elf.h>

#include <algorithm>

#include "runtime/observe/image_hash.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/field.h"

namespace vramspan::prove {
namespace {

// Tables of sections that may be looked at in vain: a file may be nothing but beginnings of images.
constexpr size_t kMostInVain = size_t{1} << 24;

class Search {
 public:
  explicit Search(std::string_view file) : file_(file) {}

  std::vector<Image> Run() {
    size_t fat = Next(kFatBegin, 0), elf = Next(kElfBegin, 0);
    while (fat != kNone || elf != kNone) {
      const size_t at = std::min(fat, elf);
      const uint64_t size = at == fat ? SizeOfFat(at) : SizeOfCubin(at);
      if (size != 0) {
        const std::string_view bytes = file_.substr(at, size);
        images_.push_back({bytes, HashOfImage(bytes.data()), at == fat});
      }
      const size_t from = at + std::max<uint64_t>(size, 1);
      if (fat < from) fat = Next(kFatBegin, from);
      if (elf < from) elf = Next(kElfBegin, from);
    }
    return std::move(images_);
  }

 private:
  static constexpr size_t kNone = std::string_view::npos;

  size_t Next(std::string_view begin, size_t from) const {
    if (from >= file_.size()) return kNone;
    const void* const found =
        memmem(file_.data() + from, file_.size() - from, begin.data(), begin.size());
    return found == nullptr ? kNone
                            : static_cast<size_t>(static_cast<const char*>(found) - file_.data());
  }

  // 0: it is none.
  uint64_t SizeOfFat(size_t at) const {
    FatHeader header;
    FatEntry entry;
    if (!ReadField(file_, at, &header) || header.header_size < sizeof(header)) return 0;
    const std::string_view entries = Part(file_, at + header.header_size, header.size);
    const uint64_t size = SizeOfImage(file_.data() + at);
    return ReadField(entries, 0, &entry) && entry.header_size >= sizeof(entry) &&
                   entry.header_size <= entries.size() &&
                   entry.size <= entries.size() - entry.header_size
               ? size
               : 0;
  }

  uint64_t SizeOfCubin(size_t at) {
    Elf64_Ehdr header;
    if (!ReadField(file_, at, &header) || header.e_machine != kCudaMachine || header.e_shnum == 0 ||
        header.e_shentsize != sizeof(Elf64_Shdr) ||
        Part(file_, at + header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize).empty() ||
        header.e_shoff > file_.size() || in_vain_ > kMostInVain) {
      return 0;
    }
    const uint64_t size = SizeOfImage(file_.data() + at);
    if (size != 0 && size <= file_.size() - at) return size;
    in_vain_ += header.e_shnum;
    return 0;
  }

  const std::string_view file_;
  std::vector<Image> images_;
  size_t in_vain_ = 0;
};

}  // namespace

std::vector<Image> FindImages(std::string_view file) { return Search(file).Run(); }

bool MayHoldImages(std::string_view file) {
  return file.starts_with(kElfBegin) || file.starts_with(kFatBegin) ||
         file.starts_with("!<arch>\n");
}

}  // namespace vramspan::prove
