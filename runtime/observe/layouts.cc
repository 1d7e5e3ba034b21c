#include "runtime/observe/layouts.h"

#include <algorithm>
#include <iterator>

namespace vramspan {
namespace {

constexpr size_t kSlot = sizeof(uint64_t);
constexpr size_t kMapBytes = sizeof(CUtensorMap);

size_t Up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

Layout MakeLayout(const std::vector<std::pair<size_t, size_t>>& places) {
  Layout layout;
  layout.known = true;
  layout.places = places;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t offset = places[i].first;
    const size_t size = places[i].second;
    const size_t end = std::min(offset + size, Up(kMostParameterBytes, kSlot));
    const size_t first = Up(offset, kSlot);
    const auto rest = [&](size_t from, size_t to) {
      if (from >= to) return;
      layout.rests.push_back({static_cast<uint16_t>(i), static_cast<uint16_t>(from - offset),
                              static_cast<uint16_t>(to - from)});
    };
    rest(offset, std::min(first, end));
    if (first < end) rest(end / kSlot * kSlot, end);
    if (first + kSlot <= end) {
      layout.runs.push_back({static_cast<uint16_t>(i), static_cast<uint16_t>(first / kSlot),
                             static_cast<uint16_t>((end - first) / kSlot),
                             static_cast<uint16_t>(first - offset)});
    }
    for (size_t at = Up(offset, kMapAlignment); at + kMapBytes <= end; at += kMapAlignment) {
      layout.maps.push_back({static_cast<uint16_t>(i), static_cast<uint16_t>(at / kSlot),
                             static_cast<uint16_t>(at - offset)});
    }
  }
  return layout;
}

// Reads all parameters with one of the two queries; its result for the first parameter.
template <typename Handle>
CUresult AskWith(CUresult (*query)(Handle, size_t, size_t*, size_t*), const void* kernel,
                 std::vector<std::pair<size_t, size_t>>* places) {
  const auto handle = static_cast<Handle>(const_cast<void*>(kernel));
  CUresult first = CUDA_SUCCESS;
  for (size_t i = 0; i <= kMostParameterBytes; ++i) {
    size_t offset = 0, size = 0;
    const CUresult result = query(handle, i, &offset, &size);
    if (i == 0) first = result;
    if (result != CUDA_SUCCESS) break;
    places->push_back({offset, size});
  }
  return first;
}

}  // namespace

std::optional<size_t> Layout::ParameterWith(size_t at, size_t size) const {
  // The driver tells them as they lie. Whatever it told, it is looked at.
  const auto behind =
      std::upper_bound(places.begin(), places.end(), at,
                       [](size_t offset, const auto& place) { return offset < place.first; });
  if (behind == places.begin()) return std::nullopt;
  const auto [offset, has] = *std::prev(behind);
  if (at < offset || has < size || at - offset > has - size) return std::nullopt;
  return static_cast<size_t>(behind - places.begin()) - 1;
}

// Each query refuses the other's handles with CUDA_ERROR_INVALID_HANDLE, and an index past the last
// parameter with CUDA_ERROR_INVALID_VALUE.
bool Layouts::Ask(const void* kernel, Places* places) const {
  const CUresult as_kernel = AskWith(driver_->KernelGetParamInfo, kernel, places);
  if (as_kernel == CUDA_SUCCESS) return true;
  const CUresult as_function = AskWith(driver_->FuncGetParamInfo, kernel, places);
  return as_function == CUDA_SUCCESS || as_function == CUDA_ERROR_INVALID_VALUE ||
         as_kernel == CUDA_ERROR_INVALID_VALUE;
}

const Layout& Layouts::Learn(const void* kernel) {
  uint64_t drops = 0;
  {
    MutexLock lock(mu_);
    drops = drops_;
  }
  Places places;
  // What was not told is asked again: it may have been a driver that is not up yet.
  if (kernel == nullptr || !Ask(kernel, &places)) return unknown_;
  MutexLock lock(mu_);
  auto [it, made] = layouts_.try_emplace(std::move(places));
  if (made) it->second = std::make_unique<const Layout>(MakeLayout(it->first));
  if (drops == drops_) {
    table_.Put(reinterpret_cast<uintptr_t>(kernel),
               {reinterpret_cast<uintptr_t>(it->second.get())});
  }
  return *it->second;
}

void Layouts::Drop() {
  MutexLock lock(mu_);
  ++drops_;
  table_.Clear();
}

}  // namespace vramspan
