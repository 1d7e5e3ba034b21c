#include "tools/simcuda/modules/image.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>

namespace simcuda {
namespace {

// Longer lists are taken for damaged ones.
constexpr size_t kMaxEntries = 1 << 16;
constexpr size_t kMaxParamBytes = 32764;  // CUDA's own limit

// A path for the dynamic linker. It takes two objects of the same path for one, even when the file
// behind the descriptor is another by then, so no two paths may be equal: a serial number is
// written into the path, one redundant path element a bit.
std::string UniquePath(int fd) {
  static std::atomic<uint64_t> next{1};
  std::string path = "/proc/self";
  for (uint64_t serial = next.fetch_add(1, std::memory_order_relaxed); serial != 0; serial >>= 1) {
    path += (serial & 1) != 0 ? "/." : "/";
  }
  return path + "/fd/" + std::to_string(fd);
}

}  // namespace

CUresult Image::Load(const ImageFile& file, std::shared_ptr<const Image>* image) {
  void* handle = dlopen(UniquePath(file.fd.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  std::shared_ptr<Image> loaded(new Image(handle));
  const void* lists = dlsym(handle, abi::kImageSymbol);
  if (lists == nullptr || !loaded->ReadLists(*static_cast<const abi::Image*>(lists))) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *image = std::move(loaded);
  return CUDA_SUCCESS;
}

Image::~Image() { dlclose(handle_); }

bool Image::ReadLists(const abi::Image& image) {
  if (image.version != abi::kAbiVersion) return false;
  for (const abi::Kernel* kernel = image.kernels; kernel != nullptr; kernel = kernel->next) {
    if (kernels_.size() == kMaxEntries || kernel->param_bytes > kMaxParamBytes ||
        kernel->param_count > kMaxParamBytes) {
      return false;
    }
    Kernel entry{kernel->name,
                 kernel->invoke,
                 {kernel->params, kernel->params + kernel->param_count},
                 kernel->param_bytes};
    for (const abi::Param& param : entry.params) {
      if (param.size > entry.param_bytes || param.offset > entry.param_bytes - param.size) {
        return false;
      }
    }
    kernels_.push_back(std::move(entry));
  }
  for (const abi::Global* global = image.globals; global != nullptr; global = global->next) {
    if (globals_.size() == kMaxEntries) return false;
    globals_.push_back({global->name, global->address, global->bytes});
  }
  // The image's constructors build the lists back to front.
  std::reverse(kernels_.begin(), kernels_.end());
  std::reverse(globals_.begin(), globals_.end());
  return true;
}

const Image::Global* Image::FindGlobal(std::string_view name) const {
  for (const Global& global : globals_) {
    if (global.name == name) return &global;
  }
  return nullptr;
}

}  // namespace simcuda
