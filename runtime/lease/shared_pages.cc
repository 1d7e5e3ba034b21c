#include "runtime/lease/shared_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace vramspan::lease {
namespace {

// A page that could shrink would end the process that touches it.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

void* MapPage(int descriptor, int rights) {
  // The seals first: only what is sealed has a size that stays.
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return nullptr;
  struct stat file {};
  if (fstat(descriptor, &file) != 0 || file.st_size != static_cast<off_t>(kPageSize)) {
    return nullptr;
  }
  void* const page = mmap(nullptr, kPageSize, rights, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, kPageSize, MADV_DONTFORK) == 0) return page;
  munmap(page, kPageSize);
  return nullptr;
}

}  // namespace

bool SharedPages::Take(std::span<const int> descriptors) {
  Drop();
  if (descriptors.size() != 2) return false;
  ours_ = static_cast<uint64_t*>(MapPage(descriptors[0], PROT_READ | PROT_WRITE));
  theirs_ = static_cast<const uint64_t*>(MapPage(descriptors[1], PROT_READ));
  if (ours_ != nullptr && theirs_ != nullptr) return true;
  Drop();
  return false;
}

void SharedPages::Drop() {
  if (ours_ != nullptr) munmap(ours_, kPageSize);
  if (theirs_ != nullptr) munmap(const_cast<uint64_t*>(theirs_), kPageSize);
  ours_ = nullptr;
  theirs_ = nullptr;
}

void SharedPages::Write(const ProcessPage& page) {
  const auto words = ToWords(page);
  // The beat, last: it says that the rest was written.
  for (size_t i = words.size(); i-- > 0;) __atomic_store_n(&ours_[i], words[i], __ATOMIC_RELEASE);
}

bool SharedPages::Read(BrokerPage* page) const {
  if (theirs_ == nullptr) return false;
  std::array<uint64_t, BrokerPage::kWords> words;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = __atomic_load_n(&theirs_[i], __ATOMIC_ACQUIRE);
  }
  return FromWords(words, page);
}

}  // namespace vramspan::lease
