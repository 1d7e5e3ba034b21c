#include "tests/preload/program_api.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "program: %s\n", what.c_str());
  std::exit(3);
}

void* Library() {
  // As cudart does it.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  return library;
}

void* Found(void* function, const char* name) {
  if (function == nullptr) Fail(std::string("no ") + name);
  // A program may well look at this after success.
  if (const char* error = dlerror(); error != nullptr) Fail(error);
  return function;
}

// cuGetProcAddress, itself resolved through itself as cudart does.
void* ByProcAddress(bool newer, const char* name, int version, bool per_thread) {
  using V1 = CUresult (*)(const char*, void**, int, cuuint64_t);
  using V2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                      : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  void* function = nullptr;
  if (newer) {
    static const V2 first = reinterpret_cast<V2>(dlsym(Library(), "cuGetProcAddress_v2"));
    static const V2 get = [] {
      void* again = nullptr;
      first("cuGetProcAddress", &again, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
      return reinterpret_cast<V2>(again);
    }();
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (get(name, &function, version, flags, &status) != CUDA_SUCCESS ||
        status != CU_GET_PROC_ADDRESS_SUCCESS) {
      Fail(std::string("no ") + name);
    }
  } else {
    static const V1 first = reinterpret_cast<V1>(dlsym(Library(), "cuGetProcAddress"));
    static const V1 get = [] {
      void* again = nullptr;
      first("cuGetProcAddress", &again, 11030, CU_GET_PROC_ADDRESS_DEFAULT);
      return reinterpret_cast<V1>(again);
    }();
    if (get(name, &function, version, flags) != CUDA_SUCCESS) Fail(std::string("no ") + name);
  }
  return Found(function, name);
}

}  // namespace

#ifdef PROGRAM_LINKED
// The exported names, as the loader binds them; cuda.h's macros name the newest ABI.
#define X(field, base, symbol, version, suffix) \
  extern "C" CUresult linked_##field() __asm__(#symbol);
PROGRAM_CALLS(X)
#undef X
#define X(field, base, symbol, version, suffix) \
  extern "C" CUresult linked_pt_##field() __asm__(#symbol #suffix);
PROGRAM_CALLS(X)
#undef X
#endif

Api OpenApi(const std::string& route) {
  const bool per_thread = route.ends_with("_pt");
  const std::string way = per_thread ? route.substr(0, route.size() - 3) : route;
  Api api;
  if (way == "linked") {
#ifdef PROGRAM_LINKED
#define X(field, base, symbol, version, suffix)      \
  api.field = reinterpret_cast<decltype(api.field)>( \
      reinterpret_cast<void*>(per_thread ? &linked_pt_##field : &linked_##field));
    PROGRAM_CALLS(X)
#undef X
    return api;
#endif
  }
  if (way != "dlsym" && way != "default" && way != "proc1" && way != "proc2") {
    Fail("no route " + route);
  }
#define X(field, base, symbol, version, suffix)                                                \
  {                                                                                            \
    const char* const name = per_thread ? #symbol #suffix : #symbol;                           \
    void* function = nullptr;                                                                  \
    const bool has_variant = sizeof(#suffix) > 1;                                              \
    const int per_thread_version = version < 7000 ? 7000 : version;                            \
    if (way == "dlsym") function = Found(dlsym(Library(), name), name);                        \
    if (way == "default") function = Found(dlsym(RTLD_DEFAULT, name), name);                   \
    if (way.starts_with("proc")) {                                                             \
      function =                                                                               \
          ByProcAddress(way == "proc2", #base,                                                 \
                        per_thread && has_variant ? per_thread_version : version, per_thread); \
    }                                                                                          \
    api.field = reinterpret_cast<decltype(api.field)>(function);                               \
  }
  PROGRAM_CALLS(X)
#undef X
  return api;
}
