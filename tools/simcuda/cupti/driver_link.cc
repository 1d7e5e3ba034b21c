#include "tools/simcuda/cupti/driver_link.h"

#include <dlfcn.h>

#include <cstdio>

namespace simcuda::cupti {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool Open(DriverLink* link) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library != nullptr && Find(library, "simcudaCuptiSubscribe", &link->subscribe) &&
      Find(library, "simcudaCuptiUnsubscribe", &link->unsubscribe) &&
      Find(library, "simcudaCuptiFinalize", &link->finalize) &&
      Find(library, "simcudaCuptiEnableCallback", &link->enable_callback) &&
      Find(library, "simcudaCuptiEnableDomain", &link->enable_domain) &&
      Find(library, "simcudaCuptiGetCallbackState", &link->get_callback_state) &&
      Find(library, "simcudaMayCount", &link->may_count) &&
      Find(library, "simcudaCountStart", &link->count_start) &&
      Find(library, "simcudaCountBegin", &link->count_begin) &&
      Find(library, "simcudaCountEnd", &link->count_end)) {
    return true;
  }
  fprintf(
      stderr,
      "simcuda: this libcupti.so.13 works with the simulated driver of its own folder only: %s. "
      "For a real GPU take the CUDA Toolkit's.\n",
      dlerror());
  return false;
}

}  // namespace

const DriverLink* Driver() {
  static DriverLink link;
  static const bool open = Open(&link);
  return open ? &link : nullptr;
}

}  // namespace simcuda::cupti
