#include "tools/simcuda/memory/file_space.h"

#include <iterator>

#include "tools/simcuda/memory/huge_file.h"
#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {

std::unique_ptr<FileSpace> FileSpace::Huge(std::string label) {
  auto space = std::make_unique<FileSpace>(std::move(label));
  space->huge_ = true;
  MutexLock lock(space->mutex_);
  space->most_ = kMostHugeBytes;
  return space;
}

bool FileSpace::OpenFile() {
  if (fd_ < 0) fd_ = huge_ ? CreateHugeFile(label_) : CreateMemoryFile(label_);
  // What the system refuses once it refuses again.
  if (fd_ < 0 && huge_) most_ = 0;
  return fd_ >= 0;
}

bool FileSpace::TakeFrom(Holes& holes, size_t size, size_t* offset) {
  for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
    if (hole->second < size) continue;
    *offset = hole->first;
    const size_t left = hole->second - size;
    holes.erase(hole);
    if (left > 0) holes.emplace(*offset + size, left);
    return true;
  }
  return false;
}

void FileSpace::AddTo(Holes& holes, size_t offset, size_t size) {
  auto next = holes.lower_bound(offset);
  if (next != holes.end() && next->first == offset + size) {
    size += next->second;
    next = holes.erase(next);
  }
  if (next != holes.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  holes.emplace(offset, size);
}

bool FileSpace::Allocate(size_t size, int* fd, size_t* offset) {
  MutexLock lock(mutex_);
  if (most_ == 0 || !OpenFile()) return false;
  *fd = fd_;
  if (TakeFrom(kept_, size, offset)) {
    kept_bytes_ -= size;
    return true;
  }
  if (TakeFrom(empty_, size, offset)) return true;
  if (size > most_ - end_ || !GrowFile(fd_, end_ + size)) return false;
  *offset = end_;
  end_ += size;
  return true;
}

void FileSpace::Free(size_t offset, size_t size) {
  MutexLock lock(mutex_);
  if (kept_bytes_ + size <= kKeptBytes) {
    kept_bytes_ += size;
    AddTo(kept_, offset, size);
  } else {
    PunchHole(fd_, offset, size);
    AddTo(empty_, offset, size);
  }
}

}  // namespace simcuda::memory
