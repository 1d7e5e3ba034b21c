#include "tools/simcuda/shared/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace simcuda::shared {
namespace {

constexpr char kFile[] = "/simcuda-devices-1";
constexpr uint64_t kVersion = 0x3165646163556d69;  // Of this layout.
constexpr uint64_t kArriving = uint64_t{1} << 63;

// A word of Use: pages above, the low bits of the change's number below.
constexpr int kTagBits = 24;
constexpr uint64_t kTagMask = (uint64_t{1} << kTagBits) - 1;
// A head: the change's number above, the place of who makes it below.
constexpr int kPlaceBits = 16;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;

uint64_t Tagged(uint64_t pages, uint64_t number) { return pages << kTagBits | (number & kTagMask); }
uint64_t PagesIn(uint64_t word) { return word >> kTagBits; }
uint64_t NumberIn(uint64_t head) { return head >> kPlaceBits; }
uint64_t PagesOf(size_t bytes) { return bytes / kPageBytes + (bytes % kPageBytes != 0); }

}  // namespace

std::unique_ptr<Segment> Segment::Open(const std::string& folder) {
  const std::string path = folder + kFile;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  struct stat found = {};
  void* mapped = MAP_FAILED;
  // A larger file is not cut: others may have it mapped. A smaller one gets its pages at once, or a
  // full file system would end the process at the first touch.
  if (fstat(file, &found) == 0) {
    if (found.st_size > static_cast<off_t>(sizeof(Layout))) {
      errno = EPROTO;
    } else if ((errno = posix_fallocate(file, 0, sizeof(Layout))) == 0) {
      mapped = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
  }
  const int error = errno;
  close(file);
  errno = error;
  if (mapped == MAP_FAILED) return nullptr;
  auto* const layout = static_cast<Layout*>(mapped);
  uint64_t version = 0;
  if (!layout->version.compare_exchange_strong(version, kVersion) && version != kVersion) {
    munmap(mapped, sizeof(Layout));
    errno = EPROTO;
    return nullptr;
  }
  std::array<char, 64> name;
  snprintf(name.data(), name.size(), "simcuda-%llx-%llx",
           static_cast<unsigned long long>(found.st_dev),
           static_cast<unsigned long long>(found.st_ino));
  return std::unique_ptr<Segment>(new Segment(layout, name.data()));
}

Segment::~Segment() { munmap(&layout_, sizeof(Layout)); }

void Segment::InitLimit(size_t device, size_t bytes) {
  uint64_t nobody_said = 0;
  layout_.devices[device].limit.compare_exchange_strong(nobody_said, bytes);
}

int Segment::Arrive() {
  const ProcessName own = OwnName();
  for (std::atomic<uint64_t>& owner : layout_.owners) {
    uint64_t former = owner.load();
    if ((former & ~kArriving) == own) owner.compare_exchange_strong(former, 0);
  }
  do {
    for (size_t i = 0; i < kMostProcesses; ++i) {
      uint64_t nobody = 0;
      if (!layout_.owners[i].compare_exchange_strong(nobody, own | kArriving)) continue;
      const int place = static_cast<int>(i);
      for (Layout::Device& device : layout_.devices) {
        Make(device, place, UINT64_MAX, [](uint64_t) { return uint64_t{0}; });
      }
      layout_.owners[i].store(own);
      return place;
    }
  } while (DropDead());
  return -1;
}

bool Segment::DropDead() {
  bool any = false;
  for (std::atomic<uint64_t>& owner : layout_.owners) {
    uint64_t name = owner.load();
    if (name != 0 && !Lives(name & ~kArriving)) any |= owner.compare_exchange_strong(name, 0);
  }
  return any;
}

void Segment::Settle(Layout::Device& device, uint64_t head) {
  Layout::Use& use = device.uses[head & kPlaceMask];
  // In this order: `next` changes only when what was in it is settled.
  uint64_t settled = use.settled.load();
  const uint64_t next = use.next.load();
  if ((next & kTagMask) == (NumberIn(head) & kTagMask)) {
    use.settled.compare_exchange_strong(settled, next);
  }
}

uint64_t Segment::Sum(const Layout::Device& device) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kMostProcesses; ++i) {
    const uint64_t owner = layout_.owners[i].load();
    if (owner != 0 && (owner & kArriving) == 0) sum += PagesIn(device.uses[i].settled.load());
  }
  return sum;
}

template <typename Look>
void Segment::AtOneMoment(Layout::Device& device, Look look) {
  uint64_t head;
  do {
    head = device.head.load();
    Settle(device, head);
    look();
  } while (device.head.load() != head);
}

template <typename Change>
bool Segment::Make(Layout::Device& device, int place, uint64_t most, Change change) {
  Layout::Use& use = device.uses[place];
  for (;;) {
    uint64_t head = device.head.load();
    Settle(device, head);
    const uint64_t before = PagesIn(use.settled.load());
    const uint64_t after = change(before);
    if (after > before) {
      const uint64_t sum = Sum(device);
      if (sum > most || after - before > most - sum) {
        if (device.head.load() != head || DropDead()) continue;
        return false;
      }
    }
    const uint64_t number = NumberIn(head) + 1;
    use.next.store(Tagged(after, number));
    const uint64_t made = number << kPlaceBits | static_cast<uint64_t>(place);
    if (!device.head.compare_exchange_strong(head, made)) continue;
    Settle(device, made);
    return true;
  }
}

bool Segment::Charge(size_t device, int place, size_t bytes) {
  Layout::Device& d = layout_.devices[device];
  const uint64_t most = d.limit.load() / kPageBytes;
  const uint64_t pages = PagesOf(bytes);
  return pages <= most && Make(d, place, most, [pages](uint64_t before) { return before + pages; });
}

void Segment::Release(size_t device, int place, size_t bytes) {
  const uint64_t pages = PagesOf(bytes);
  Make(layout_.devices[device], place, UINT64_MAX,
       [pages](uint64_t before) { return before - std::min(before, pages); });
}

size_t Segment::Used(size_t device) {
  DropDead();
  uint64_t sum = 0;
  AtOneMoment(layout_.devices[device], [&] { sum = Sum(layout_.devices[device]); });
  return sum * kPageBytes;
}

std::vector<ProcessUse> Segment::Processes(size_t device) {
  DropDead();
  std::vector<ProcessUse> uses;
  Layout::Device& d = layout_.devices[device];
  AtOneMoment(d, [&] {
    uses.clear();
    for (size_t i = 0; i < kMostProcesses; ++i) {
      const uint64_t owner = layout_.owners[i].load();
      const uint64_t pages = PagesIn(d.uses[i].settled.load());
      if (owner == 0 || (owner & kArriving) != 0 || pages == 0) continue;
      uses.push_back({PidOf(owner), pages * kPageBytes});
    }
  });
  return uses;
}

}  // namespace simcuda::shared
