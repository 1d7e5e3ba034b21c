#include "tools/simcuda/memory/physical.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/file_space.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::memory {
namespace {

// Shows as /memfd:simcuda-shared-TYPE-ID in /proc/self/fd; an importing process reads it back
// there.
constexpr char kSharedLabel[] = "simcuda-shared-%d-%d";

// Where to take memory, in this order.
struct Spaces {
  explicit Spaces(const std::string& label) : huge(FileSpace::Huge(label)), small(label) {}

  const std::unique_ptr<FileSpace> huge;
  FileSpace small;
};

Spaces& SpacesOf(const CUmemLocation& location) {
  struct All {
    Spaces host{"simcuda-host"};
    std::vector<std::unique_ptr<Spaces>> devices;
  };
  static auto* const spaces = [] {
    auto* made = new All();
    for (int i = 0; i < Driver::Get().device_count(); ++i) {
      made->devices.push_back(std::make_unique<Spaces>("simcuda-device-" + std::to_string(i)));
    }
    return made;
  }();
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return spaces->host;
  return *spaces->devices[static_cast<size_t>(location.id)];
}

MemoryAccount& AccountOf(const CUmemLocation& location) {
  Driver& driver = Driver::Get();
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return driver.host_memory();
  return driver.device(location.id)->memory();
}

// Memory of this process that can be exported, by its file: a descriptor leads back to it.
struct OwnFiles {
  using Key = std::pair<dev_t, ino_t>;
  static bool KeyOf(int fd, Key* key) {
    struct stat status;
    if (fstat(fd, &status) != 0) return false;
    *key = {status.st_dev, status.st_ino};
    return true;
  }
  static OwnFiles& Get() {
    static auto* const files = new OwnFiles();
    return *files;
  }

  Mutex mutex;
  std::map<Key, std::weak_ptr<Physical>> by_file SIMCUDA_GUARDED_BY(mutex);
};

PhysicalPtr FindOwn(int fd) {
  OwnFiles::Key key;
  if (!OwnFiles::KeyOf(fd, &key)) return nullptr;
  OwnFiles& files = OwnFiles::Get();
  MutexLock lock(files.mutex);
  const auto it = files.by_file.find(key);
  return it != files.by_file.end() ? it->second.lock() : nullptr;
}

void AddOwn(int fd, const PhysicalPtr& memory) {
  OwnFiles::Key key;
  if (!OwnFiles::KeyOf(fd, &key)) return;
  OwnFiles& files = OwnFiles::Get();
  MutexLock lock(files.mutex);
  files.by_file[key] = memory;
}

// Before the file is closed: its number may then be another's.
void ForgetOwn(int fd) {
  OwnFiles::Key key;
  if (!OwnFiles::KeyOf(fd, &key)) return;
  OwnFiles& files = OwnFiles::Get();
  MutexLock lock(files.mutex);
  const auto it = files.by_file.find(key);
  if (it != files.by_file.end() && it->second.expired()) files.by_file.erase(it);
}

}  // namespace

PhysicalPtr Physical::Create(size_t size, const CUmemAllocationProp& prop) {
  MemoryAccount& account = AccountOf(prop.location);
  if (!account.Charge(size)) return nullptr;
  std::shared_ptr<Physical> made(new Physical());
  made->size_ = size;
  made->prop_ = prop;
  made->account_ = &account;
  if (prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    std::array<char, 64> label;
    snprintf(label.data(), label.size(), kSharedLabel, static_cast<int>(prop.location.type),
             prop.location.id);
    made->fd_ = CreateMemoryFile(label.data());
    if (made->fd_ < 0 || !GrowFile(made->fd_, size)) return nullptr;
    AddOwn(made->fd_, made);
  } else {
    Spaces& spaces = SpacesOf(prop.location);
    FileSpace* space = spaces.huge.get();
    if (!space->Allocate(size, &made->fd_, &made->offset_)) {
      space = &spaces.small;
      if (!space->Allocate(size, &made->fd_, &made->offset_)) return nullptr;
    }
    made->space_ = space;
  }
  return made;
}

PhysicalPtr Physical::Import(int fd) {
  if (PhysicalPtr own = FindOwn(fd)) return own;
  std::array<char, 128> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (readlink(link.c_str(), target.data(), target.size() - 1) < 0) return nullptr;
  int type = 0;
  int id = 0;
  if (sscanf(target.data(), "/memfd:simcuda-shared-%d-%d", &type, &id) != 2) return nullptr;
  struct stat status;
  if (fstat(fd, &status) != 0) return nullptr;
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  std::shared_ptr<Physical> made(new Physical());
  made->size_ = static_cast<size_t>(status.st_size);
  made->prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made->prop_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  made->prop_.location = {static_cast<CUmemLocationType>(type), id};
  made->fd_ = own;
  return made;
}

void Physical::MappedAt(char* address) {
  // Refused for pages that nobody touched yet, and where the system has no such call.
  if (was_mapped_ && !huge_) huge_ = MakeHuge(address, size_);
  was_mapped_ = true;
}

Physical::~Physical() {
  if (space_ != nullptr) {
    space_->Free(offset_, size_);
  } else if (fd_ >= 0) {
    ForgetOwn(fd_);
    close(fd_);
  }
  if (account_ != nullptr) account_->Release(size_);
}

}  // namespace simcuda::memory
