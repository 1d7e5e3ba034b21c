#include "tools/broker/server/page_pair.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <array>

#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the pages' words are little-endian");

constexpr size_t kRevisionWord = 2;

Status Open(const char* name, Fd* fd) {
  *fd = Fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!*fd) return SystemError("memfd_create");
  if (ftruncate(fd->get(), lease::kPageSize) != 0) return SystemError("ftruncate of a page");
  return absl::OkStatus();
}

StatusOr<uint64_t*> Map(int fd) {
  void* const at = mmap(nullptr, lease::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return SystemError("mmap of a page");
  return static_cast<uint64_t*>(at);
}

void Unmap(const void* at) {
  if (at != nullptr) munmap(const_cast<void*>(at), lease::kPageSize);
}

}  // namespace

StatusOr<std::unique_ptr<PagePair>> PagePair::Make() {
  std::unique_ptr<PagePair> pair(new PagePair());
  VS_RETURN_IF_ERROR(Open("vramspan-process", &pair->process_fd_));
  VS_RETURN_IF_ERROR(Open("vramspan-broker", &pair->broker_fd_));
  VS_ASSIGN_OR_RETURN(pair->process_, Map(pair->process_fd_.get()));
  VS_ASSIGN_OR_RETURN(pair->broker_, Map(pair->broker_fd_.get()));
  constexpr int kLength = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(pair->process_fd_.get(), F_ADD_SEALS, kLength) != 0 ||
      fcntl(pair->broker_fd_.get(), F_ADD_SEALS, kLength | F_SEAL_FUTURE_WRITE) != 0) {
    return SystemError("sealing a page");
  }
  return pair;
}

PagePair::~PagePair() {
  Unmap(process_);
  Unmap(broker_);
}

void PagePair::CloseDescriptors() {
  process_fd_.Reset();
  broker_fd_.Reset();
}

bool PagePair::Read(lease::ProcessPage* page) const {
  std::array<uint64_t, lease::ProcessPage::kWords> words;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = __atomic_load_n(process_ + i, __ATOMIC_ACQUIRE);
  }
  return lease::FromWords(words, page);
}

void PagePair::Write(const lease::BrokerPage& page) {
  const auto words = lease::ToWords(page);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != kRevisionWord) __atomic_store_n(broker_ + i, words[i], __ATOMIC_RELEASE);
  }
  __atomic_store_n(broker_ + kRevisionWord, words[kRevisionWord], __ATOMIC_RELEASE);
}

}  // namespace vramspan::broker
