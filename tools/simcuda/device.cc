#include "tools/simcuda/device.h"

#include <algorithm>
#include <utility>

#include "tools/simcuda/context.h"
#include "tools/simcuda/driver.h"

namespace simcuda {

MemoryAccount::MemoryAccount(size_t limit, shared::SharedDevices* shared, size_t number)
    : shared_(shared), number_(number), limit_(limit) {
  if (shared_ != nullptr) shared_->InitLimit(number_, limit);
}

bool MemoryAccount::Charge(size_t bytes) {
  MutexLock lock(mutex_);
  if (shared_ != nullptr ? !shared_->Charge(number_, bytes)
                         : used_ > limit_ || bytes > limit_ - used_) {
    return false;
  }
  used_ += bytes;
  return true;
}

void MemoryAccount::Release(size_t bytes) {
  MutexLock lock(mutex_);
  if (shared_ != nullptr) shared_->Release(number_, bytes);
  used_ -= bytes;
}

size_t MemoryAccount::limit() const {
  if (shared_ != nullptr) return shared_->limit(number_);
  MutexLock lock(mutex_);
  return limit_;
}

size_t MemoryAccount::used() const {
  MutexLock lock(mutex_);
  return used_;
}

size_t MemoryAccount::free() const {
  if (shared_ != nullptr) {
    const size_t most = shared_->limit(number_);
    return most - std::min(most, shared_->Used(number_));
  }
  MutexLock lock(mutex_);
  return used_ < limit_ ? limit_ - used_ : 0;
}

void MemoryAccount::set_limit(size_t limit) {
  if (shared_ != nullptr) shared_->set_limit(number_, limit);
  MutexLock lock(mutex_);
  limit_ = limit;
}

Device::Device(int ordinal, size_t memory)
    : ordinal_(ordinal),
      memory_(memory, shared::SharedDevices::Get(), static_cast<size_t>(ordinal)) {}

CUresult Device::RetainPrimary(CUcontext* handle) {
  MutexLock lock(mutex_);
  if (!primary_) {
    primary_ = Context::Create(*this, primary_flags_, /*primary=*/true);
    if (!primary_) return CUDA_ERROR_OUT_OF_MEMORY;
    if (primary_handle_ == nullptr) primary_handle_ = Driver::Get().contexts().NewHandle();
    primary_->set_handle(primary_handle_);
    Driver::Get().contexts().InsertAs(primary_handle_, primary_);
  }
  ++primary_count_;
  *handle = primary_handle_;
  return CUDA_SUCCESS;
}

CUresult Device::ReleasePrimary() {
  ContextPtr ended;
  {
    MutexLock lock(mutex_);
    if (primary_count_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_count_ > 0) return CUDA_SUCCESS;
    ended = std::move(primary_);
    Driver::Get().contexts().RemoveKept(primary_handle_);
  }
  if (ended) ended->Destroy();
  return CUDA_SUCCESS;
}

CUresult Device::ResetPrimary() {
  ContextPtr ended;
  {
    MutexLock lock(mutex_);
    ended = std::move(primary_);
    if (primary_handle_ != nullptr) Driver::Get().contexts().RemoveKept(primary_handle_);
  }
  if (ended) ended->Destroy();
  return CUDA_SUCCESS;
}

CUresult Device::SetPrimaryFlags(unsigned flags) {
  MutexLock lock(mutex_);
  primary_flags_ = flags;
  if (primary_) primary_->set_flags(flags);
  return CUDA_SUCCESS;
}

void Device::PrimaryState(unsigned* flags, int* active) {
  MutexLock lock(mutex_);
  if (flags != nullptr) *flags = primary_flags_;
  if (active != nullptr) *active = primary_ != nullptr ? 1 : 0;
}

}  // namespace simcuda
