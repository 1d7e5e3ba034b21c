#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "tests/preload/program_scenarios.h"
#include "tools/simcuda/control.h"

namespace {

struct Row {
  const char* base;
  int version;
};

const std::map<std::string, Row> kHooked = {
// The rows' names are text here, not cuda.h's macros.
#define X(base, version, symbol) {#symbol, {#base, version}},
#include "tests/preload/hooked_symbols.inc"
#undef X
};

std::string LibraryOf(void* function) {
  Dl_info info{};
  if (function == nullptr) return "none";
  CHECK(dladdr(function, &info) != 0);
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

// All that is wrong, told at once in the end.
std::string problems;
void Problem(const std::string& what) {
  problems += (problems.empty() ? "" : "\nprogram: ") + what;
}

void Expect(const std::string& what, const std::string& found, const std::string& wanted) {
  if (found != wanted) Problem(what + " comes from " + found + ", not from " + wanted);
}

// Where the driver has a symbol, a hooked one is the preload's by every way, and any other the
// driver's own.
void CheckPresent(void* driver, const std::string& symbol) {
  const auto hooked = kHooked.find(symbol);
  const std::string wanted = hooked != kHooked.end() ? "libvramspan_preload.so" : "libcuda.so.1";
  Expect("dlsym " + symbol, LibraryOf(dlsym(driver, symbol.c_str())), wanted);
  CHECK(dlerror() == nullptr);
  if (hooked == kHooked.end()) return;
  using V1 = CUresult (*)(const char*, void**, int, cuuint64_t);
  using V2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto v1 = reinterpret_cast<V1>(dlsym(driver, "cuGetProcAddress"));
  const auto v2 = reinterpret_cast<V2>(dlsym(driver, "cuGetProcAddress_v2"));
  const bool per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
  const cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                      : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  const auto [base, version] = hooked->second;
  // The simulated driver offers CUDA 10's ABI under this name nowhere.
  if (symbol == "cuGraphInstantiate") return;
  for (const bool newer : {false, true}) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult result =
        newer ? v2(base, &function, version, flags, &status) : v1(base, &function, version, flags);
    if (result != CUDA_SUCCESS || (newer && status != CU_GET_PROC_ADDRESS_SUCCESS)) {
      Problem("cuGetProcAddress " + symbol + " is " + std::to_string(result) + ", status " +
              std::to_string(status));
      continue;
    }
    Expect("cuGetProcAddress " + symbol, LibraryOf(function), wanted);
    // A version and a variant are what they were: the same as by name.
    if (function != dlsym(driver, symbol.c_str())) {
      Problem("cuGetProcAddress answers another " + symbol + " than dlsym");
    }
  }
}

}  // namespace

void CheckTable(Program*) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  using EntrySymbol = const char* (*)(unsigned);
  const auto entry = reinterpret_cast<EntrySymbol>(dlsym(driver, "simcudaEntrySymbol"));
  if (entry == nullptr) {
    // A driver that does not tell what it has: only what is to be hooked can be looked up.
    dlerror();
    for (const auto& [symbol, row] : kHooked) {
      if (dlsym(driver, symbol.c_str()) != nullptr) {
        CheckPresent(driver, symbol);
      } else {
        dlerror();
        std::printf("the driver has no %s\n", symbol.c_str());
      }
    }
    if (!problems.empty()) Fail(problems);
    return;
  }
  unsigned count = 0;
  for (; entry(count) != nullptr; ++count) CheckPresent(driver, entry(count));
  CHECK(count > 200);
  if (!problems.empty()) Fail(problems);
}

// What a driver lacks is not there because the preload has a hook for it.
void CheckTableOfOldDriver(Program*) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  size_t lacking = 0;
  for (const auto& [symbol, row] : kHooked) {
    const std::string found = LibraryOf(dlsym(driver, symbol.c_str()));
    if (symbol == "cuInit" || symbol == "cuCtxSynchronize") {
      Expect("dlsym " + symbol, found, "libvramspan_preload.so");
      continue;
    }
    ++lacking;
    Expect("dlsym " + symbol, found, "none");
    CHECK(dlerror() != nullptr);
    Expect("dlsym of all " + symbol, LibraryOf(dlsym(RTLD_DEFAULT, symbol.c_str())), "none");
    CHECK(dlerror() != nullptr);
  }
  CHECK(lacking + 2 == kHooked.size());
  if (!problems.empty()) Fail(problems);
}
