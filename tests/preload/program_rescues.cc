// Calls that may take device memory without saying how much, each made while the device is full:
// the simulated driver refuses it once, and it goes through when vramspan has given some memory
// back.
#include <cudaTypedefs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/kernels/test_kernels.h"
#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;

class Rescues {
 public:
  explicit Rescues(Program* p) : p_(*p) {
    p_.Start();
    size_t free = 0, total = 0;
    CHECK_OK(p_.api.MemGetInfo(&free, &total));
    buffers_.resize(2 * total / kBytes);
    for (CUdeviceptr& b : buffers_) CHECK_OK(p_.api.MemAlloc(&b, kBytes));
  }
  ~Rescues() {
    for (const CUdeviceptr b : buffers_) CHECK_OK(p_.api.MemFree(b));
  }

  void Make(const std::string& name, const std::function<CUresult()>& call) {
    for (const CUdeviceptr b : buffers_) p_.Launch(p_.add_constant, b, 1, 1);
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    CHECK(fail_(name.c_str(), 1, 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
    if (const CUresult result = call(); result != CUDA_SUCCESS) {
      problems_ += name + " is " + std::to_string(result) + "\n";
      return;
    }
    if (failed_() != ++made_) problems_ += name + " was not refused\n";
    // Memory of others that goes lets the budget rise again.
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR d{64, 0, CU_AD_FORMAT_FLOAT, 1};
    CHECK_OK(GET(cuArrayCreate, "cuArrayCreate_v2")(&array, &d));
    CHECK_OK(GET(cuArrayDestroy, "cuArrayDestroy")(array));
  }
  const std::string& problems() const { return problems_; }

 private:
  Program& p_;
  std::vector<CUdeviceptr> buffers_;
  unsigned long long made_ = 0;
  std::string problems_;
  int (*const fail_)(const char*, unsigned long long, long long,
                     int) = Get<decltype(fail_)>("simcudaFail");
  unsigned long long (*const failed_)() = Get<decltype(failed_)>("simcudaFailedCalls");
};

// The image that this driver takes, in memory and in a file.
const void* HostImage() { return test_kernels_images().host; }
class ImageFile {
 public:
  ImageFile() {
    std::ofstream file(path_, std::ios::binary);
    file.write(static_cast<const char*>(HostImage()),
               static_cast<std::streamsize>(test_kernels_images().host_size));
    CHECK(file.good());
  }
  ~ImageFile() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("vramspan-image-" + std::to_string(getpid())))
          .string();
};

void RescueModules(Rescues* r) {
  const ImageFile file;
  CUmodule module = nullptr;
  const auto make = [&](const std::string& name, const std::function<CUresult()>& call) {
    r->Make(name, call);
    CHECK_OK(GET(cuModuleUnload, "cuModuleUnload")(module));
  };
  make("cuModuleLoad", [&] { return GET(cuModuleLoad, "cuModuleLoad")(&module, file.path()); });
  make("cuModuleLoadData",
       [&] { return GET(cuModuleLoadData, "cuModuleLoadData")(&module, HostImage()); });
  make("cuModuleLoadDataEx", [&] {
    return GET(cuModuleLoadDataEx, "cuModuleLoadDataEx")(&module, HostImage(), 0, nullptr, nullptr);
  });
  make("cuModuleLoadFatBinary",
       [&] { return GET(cuModuleLoadFatBinary, "cuModuleLoadFatBinary")(&module, HostImage()); });
  CHECK_OK(GET(cuModuleLoadData, "cuModuleLoadData")(&module, HostImage()));
  CUfunction function = nullptr;
  r->Make("cuModuleGetFunction", [&] {
    return GET(cuModuleGetFunction, "cuModuleGetFunction")(&function, module, "fill");
  });
  r->Make("cuFuncLoad", [&] { return GET(cuFuncLoad, "cuFuncLoad")(function); });
  CHECK_OK(GET(cuModuleUnload, "cuModuleUnload")(module));

  CUlibrary library = nullptr;
  r->Make("cuLibraryLoadFromFile", [&] {
    return GET(cuLibraryLoadFromFile, "cuLibraryLoadFromFile")(&library, file.path(), nullptr,
                                                               nullptr, 0, nullptr, nullptr, 0);
  });
  CHECK_OK(GET(cuLibraryUnload, "cuLibraryUnload")(library));
  r->Make("cuLibraryLoadData", [&] {
    return GET(cuLibraryLoadData, "cuLibraryLoadData")(&library, HostImage(), nullptr, nullptr, 0,
                                                       nullptr, nullptr, 0);
  });
  r->Make("cuLibraryGetModule",
          [&] { return GET(cuLibraryGetModule, "cuLibraryGetModule")(&module, library); });
  CUkernel kernel = nullptr;
  CHECK_OK(GET(cuLibraryGetKernel, "cuLibraryGetKernel")(&kernel, library, "fill"));
  r->Make("cuKernelGetFunction",
          [&] { return GET(cuKernelGetFunction, "cuKernelGetFunction")(&function, kernel); });
  CHECK_OK(GET(cuLibraryUnload, "cuLibraryUnload")(library));
}

void RescueStreams(Program* p, Rescues* r) {
  CUstream stream = nullptr;
  r->Make("cuStreamCreate", [&] { return GET(cuStreamCreate, "cuStreamCreate")(&stream, 0); });
  CHECK_OK(p->api.StreamDestroy(stream));
  r->Make("cuStreamCreateWithPriority", [&] {
    return GET(cuStreamCreateWithPriority, "cuStreamCreateWithPriority")(&stream, 0, 0);
  });
  CHECK_OK(p->api.StreamDestroy(stream));
  CUevent event = nullptr;
  r->Make("cuEventCreate", [&] { return GET(cuEventCreate, "cuEventCreate")(&event, 0); });
  CHECK_OK(GET(cuEventDestroy, "cuEventDestroy_v2")(event));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
  CHECK_OK(
      Get<PFN_cuGraphInstantiateWithFlags_v11040>("cuGraphInstantiateWithFlags")(&exec, graph, 0));
  for (const std::string name : {"cuGraphUpload", "cuGraphUpload_ptsz"}) {
    r->Make(name, [&] { return GET(cuGraphUpload, name)(exec, p->stream); });
  }
  CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph));
}

void RescueContexts(Program* p, Rescues* r) {
  r->Make("cuCtxSetLimit",
          [&] { return GET(cuCtxSetLimit, "cuCtxSetLimit")(CU_LIMIT_STACK_SIZE, 4096); });
  const auto make = [&](const std::string& name, const std::function<CUresult(CUcontext*)>& call) {
    CUcontext other = nullptr;
    r->Make(name, [&] {
      const CUresult result = call(&other);
      CHECK_OK(p->api.CtxSetCurrent(p->context));
      return result;
    });
    if (other != nullptr) CHECK_OK(p->api.CtxDestroy(other));
    CHECK_OK(p->api.CtxSetCurrent(p->context));
  };
  make("cuCtxCreate_v2",
       [&](CUcontext* c) { return Get<PFN_cuCtxCreate_v3020>("cuCtxCreate_v2")(c, 0, p->device); });
  make("cuCtxCreate_v3", [&](CUcontext* c) {
    return Get<PFN_cuCtxCreate_v11040>("cuCtxCreate_v3")(c, nullptr, 0, 0, p->device);
  });
  make("cuCtxCreate_v4", [&](CUcontext* c) {
    return Get<PFN_cuCtxCreate_v12050>("cuCtxCreate_v4")(c, nullptr, 0, p->device);
  });
}

}  // namespace

void RescueEach(Program* p) {
  std::string problems;
  {
    Rescues rescues(p);
    RescueModules(&rescues);
    RescueStreams(p, &rescues);
    RescueContexts(p, &rescues);
    problems = rescues.problems();
  }
  if (!problems.empty()) Fail(problems);
}
