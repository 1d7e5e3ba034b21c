// A program that loads the images in files, as others do, and knows nothing of vramspan:
//
//   loading_program [module|library|preserved|path]:FILE... [memory:MIB] [exit:CODE]
//
// `memory` allocates and fills so much.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

template <typename Function>
Function* Driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) std::printf("there is no %s\n", name);
  if (function == nullptr) std::exit(99);
  return reinterpret_cast<Function*>(function);
}

std::string Text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

CUresult Fill(size_t size) {
  CUdeviceptr memory = 0;
  const CUresult result = Driver<decltype(cuMemAlloc)>("cuMemAlloc_v2")(&memory, size);
  if (result != CUDA_SUCCESS) return result;
  return Driver<decltype(cuMemsetD8)>("cuMemsetD8_v2")(memory, 1, size);
}

CUresult Load(const std::string& how, const std::string& path) {
  if (how == "memory") return Fill(std::stoul(path) << 20);
  const std::string image = Text(path);
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  if (how == "module") {
    return Driver<decltype(cuModuleLoadData)>("cuModuleLoadData")(&module, image.data());
  }
  if (how == "path") return Driver<decltype(cuModuleLoad)>("cuModuleLoad")(&module, path.c_str());
  CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
  return Driver<decltype(cuLibraryLoadData)>("cuLibraryLoadData")(
      &library, image.data(), nullptr, nullptr, 0, &option, nullptr, how == "preserved" ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  Driver<decltype(cuInit)>("cuInit")(0);
  CUcontext context = nullptr;
  Driver<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0);
  Driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], how = word.substr(0, word.find(':'));
    const std::string what = word.substr(how.size() + 1);
    if (how == "exit") return std::atoi(what.c_str());
    if (const CUresult result = Load(how, what); result != CUDA_SUCCESS) {
      std::printf("%s gave %d\n", word.c_str(), result);
      return 98;
    }
  }
  return 0;
}
