#include "cupti_tracer/cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace vramspan {
namespace {

constexpr const char* kSoname = "libcupti.so.13";
constexpr const char* kFolders[] = {
    "/usr/local/cuda/lib64/",
    "/usr/local/cuda/extras/CUPTI/lib64/",
    "/opt/cuda/extras/CUPTI/lib64/",
};

}  // namespace

void* OpenCuptiLibrary(const char* preferred, std::string* error) {
  // Another copy beside the one that the program uses would be another subscriber.
  if (void* loaded = dlopen(kSoname, RTLD_NOW | RTLD_NOLOAD); loaded != nullptr) return loaded;
  std::vector<std::string> paths;
  if (const char* given = std::getenv("VRAMSPAN_CUPTI"); given != nullptr && *given != '\0') {
    paths.emplace_back(given);
  } else {
    if (preferred != nullptr) paths.emplace_back(preferred);
    paths.emplace_back(kSoname);
    paths.emplace_back("libcupti.so");
    for (const char* folder : kFolders) paths.push_back(std::string(folder) + kSoname);
  }
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    if (error->empty()) {
      const char* text = dlerror();
      *error = text != nullptr ? text : path;
    }
  }
  *error = "CUPTI cannot be opened (" + *error + "); install it with the CUDA Toolkit, or set " +
           "VRAMSPAN_CUPTI to the path of " + kSoname;
  return nullptr;
}

std::string Cupti::Text(CUptiResult result) const {
  const char* text = nullptr;
  if (GetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
  return "CUPTI error " + std::to_string(static_cast<int>(result));
}

const Cupti* OpenCupti(const char* preferred, std::string* error) {
  static Cupti cupti;
  if (cupti.Subscribe != nullptr) return &cupti;
  void* library = OpenCuptiLibrary(preferred, error);
  if (library == nullptr) return nullptr;
  error->clear();
  Cupti found;
  const auto look = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && error->empty()) {
      *error = std::string("the CUPTI that was opened has no ") + name;
    }
  };
  look(found.Unsubscribe, "cuptiUnsubscribe");
  look(found.EnableCallback, "cuptiEnableCallback");
  look(found.GetResultString, "cuptiGetResultString");
  look(found.Subscribe, "cuptiSubscribe");
  if (!error->empty()) return nullptr;
  look(found.SubscribeV2, "cuptiSubscribe_v2");
  error->clear();
  cupti = found;
  return &cupti;
}

}  // namespace vramspan
