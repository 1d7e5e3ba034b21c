#include <cudaTypedefs.h>

#include <cstring>

#include "tests/kernels/test_kernels.h"
#include "tests/preload/program_calls.h"

namespace {

struct Buffer {
  CUdeviceptr words;
  size_t count;
  unsigned long long value;
  CUtensorMap map;  // Behind what the kernel takes.
};

// A kernel that is passed the map.
CUresult LaunchWith(const Caller& c, const CUtensorMap& map) {
  Buffer buffer{};
  buffer.words = c.marker();
  buffer.count = 1;
  std::memcpy(&buffer.map, &map, sizeof(map));
  size_t size = sizeof(buffer);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  return GET(cuLaunchKernel, "cuLaunchKernel")(c.p().add_constant, 1, 1, 1, 32, 1, 1, 0, c.stream(),
                                               nullptr, extra);
}

struct Image {
  cuuint64_t lengths[3] = {64, 8, 4};
  cuuint64_t strides[2] = {256, 2048};
  cuuint32_t steps[3] = {1, 1, 1};
  cuuint32_t box[1] = {32};
};

CUresult EncodeTiled(CUtensorMap* map, CUdeviceptr at, cuuint64_t length) {
  const Image image;
  return GET(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")(
      map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, reinterpret_cast<void*>(at), &length, image.strides,
      image.box, image.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

void Encodes(Caller* c, const std::string& name,
             const std::function<CUresult(CUtensorMap*)>& call) {
  CUtensorMap map;
  c->Call(name, Told::kNothing, [&] { return call(&map); });
  c->Call(name + ", cuLaunchKernel", Told::kNamed, [&] { return LaunchWith(*c, map); });
}

void CallTensorMaps(Caller* c) {
  void* const address = reinterpret_cast<void*>(c->memory());
  const Image image;
  Encodes(c, "cuTensorMapEncodeTiled",
          [&](CUtensorMap* map) { return EncodeTiled(map, c->memory(), 64); });
  Encodes(c, "cuTensorMapEncodeIm2col", [&](CUtensorMap* map) {
    const int corner[3] = {};
    return GET(cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col")(
        map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, address, image.lengths, image.strides, corner,
        corner, 32, 4, image.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  });
  Encodes(c, "cuTensorMapReplaceAddress", [&](CUtensorMap* map) {
    CHECK_OK(EncodeTiled(map, c->marker(), 128));
    return GET(cuTensorMapReplaceAddress, "cuTensorMapReplaceAddress")(map, address);
  });
}

void CallTextures(Caller* c) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {c->memory(), CU_AD_FORMAT_FLOAT, 1, 4096};
  const CUDA_TEXTURE_DESC plain{};
  CUtexObject object = 0;
  c->Call("cuTexObjectCreate", Told::kNothing, [&] {
    return GET(cuTexObjectCreate, "cuTexObjectCreate")(&object, &resource, &plain, nullptr);
  });
  c->Call("cuTexObjectCreate, cuLaunchKernel", Told::kNamed, [&] { return c->LaunchOn(object); });
  c->Call("cuTexObjectDestroy", Told::kNothing,
          [&] { return GET(cuTexObjectDestroy, "cuTexObjectDestroy")(object); });
  c->Call("cuTexObjectDestroy, cuLaunchKernel", Told::kOther, [&] { return c->LaunchOn(object); });
}

// Of kernels that are gone nothing is remembered: their handles may come again.
void Ends(Caller* c, const std::string& name, CUfunction kernel,
          const std::function<CUresult()>& end) {
  CUdeviceptr words = c->memory();
  size_t count = 1;
  unsigned long long value = 1;
  void* params[] = {&words, &count, &value};
  const auto launch = [&] {
    return c->p().api.LaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, c->stream(), params, nullptr);
  };
  c->Call("before " + name, Told::kNamed, launch);
  c->Call(name, Told::kNothing, end);
  c->Call(name + ", cuLaunchKernel", Told::kUnknown, launch, CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace

void CallObjects(Caller* c) {
  CallTensorMaps(c);
  CallTextures(c);
}

void CallModules(Caller* c) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CHECK_OK(simcuda::LoadKernels(test_kernels_images(), c->p().api.ModuleLoadData, &module));
  CHECK_OK(c->p().api.ModuleGetFunction(&function, module, "add_constant"));
  Ends(c, "cuModuleUnload", function,
       [&] { return GET(cuModuleUnload, "cuModuleUnload")(module); });
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  const auto load = [](CUlibrary* made, const void* image) {
    return GET(cuLibraryLoadData, "cuLibraryLoadData")(made, image, nullptr, nullptr, 0, nullptr,
                                                       nullptr, 0);
  };
  CHECK_OK(simcuda::LoadKernels(test_kernels_images(), load, &library));
  CHECK_OK(GET(cuLibraryGetKernel, "cuLibraryGetKernel")(&kernel, library, "add_constant"));
  Ends(c, "cuLibraryUnload", reinterpret_cast<CUfunction>(kernel),
       [&] { return GET(cuLibraryUnload, "cuLibraryUnload")(library); });
}

// Of devices that this is for (SIMCUDA_COMPUTE_CAPABILITY).
void EncodeWide(Program* p) {
  Caller c(p);
  Encodes(&c, "cuTensorMapEncodeIm2colWide", [&](CUtensorMap* map) {
    const Image image;
    return GET(cuTensorMapEncodeIm2colWide, "cuTensorMapEncodeIm2colWide")(
        map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, reinterpret_cast<void*>(c.memory()), image.lengths,
        image.strides, 0, 0, 32, 4, image.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  });
}

// From here on any kernel may read by the reference, for none says so. By one of the calls alone.
void BindTexture(Program* p, const std::string& name) {
  Caller c(p);
  CUtexref reference = nullptr;
  CHECK_OK(Get<PFN_cuTexRefCreate_v2000>("cuTexRefCreate")(&reference));
  c.Call("before " + name, Told::kOther, [&] { return c.LaunchOn(0); });
  const CUDA_ARRAY_DESCRIPTOR rows{16, 4, CU_AD_FORMAT_FLOAT, 1};
  c.Call(name, Told::kNothing, [&] {
    if (name.find("2D") != std::string::npos) {
      return Get<PFN_cuTexRefSetAddress2D_v4010>(name)(reference, &rows, c.memory(), 64);
    }
    size_t offset = 0;
    return Get<PFN_cuTexRefSetAddress_v3020>(name)(&offset, reference, c.memory(), 4096);
  });
  c.Call(name + ", cuLaunchKernel", Told::kUnknown, [&] { return c.LaunchOn(0); });
  CHECK_OK(Get<PFN_cuTexRefDestroy_v2000>("cuTexRefDestroy")(reference));
}
