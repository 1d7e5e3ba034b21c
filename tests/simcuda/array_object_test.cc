// Textures and surfaces of arrays, as kernels see them.

#include <numeric>

#include "tests/simcuda/sim_fixture.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(array_kernels);

namespace simcuda {
namespace {

struct Lengths {
  unsigned width, height, depth;
  size_t count() const { return size_t{width} * height * depth; }
};
constexpr Lengths kLengths[] = {{40, 1, 1}, {12, 7, 1}, {12, 7, 5}};

class ArrayObjectTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(LoadKernels(array_kernels_images(), cuModuleLoadData, &module_));
    SIM_OK(cuModuleGetFunction(&read_texture_, module_, "read_texture"));
    SIM_OK(cuModuleGetFunction(&add_to_surface_, module_, "add_to_surface"));
  }

  static CUarray Make(const Lengths& l, unsigned flags = 0) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {l.width,
                                       l.height > 1 ? l.height : 0,
                                       l.depth > 1 ? l.depth : 0,
                                       CU_AD_FORMAT_UNSIGNED_INT32,
                                       1,
                                       flags};
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
    return array;
  }
  static CUDA_MEMCPY3D Whole(const Lengths& l) {
    CUDA_MEMCPY3D copy = {};
    copy.WidthInBytes = l.width * sizeof(unsigned);
    copy.Height = l.height;
    copy.Depth = l.depth;
    return copy;
  }
  // Fills it with words of their own.
  static std::vector<unsigned> Fill(CUarray array, const Lengths& l) {
    std::vector<unsigned> words(l.count());
    std::iota(words.begin(), words.end(), 1000u);
    CUDA_MEMCPY3D copy = Whole(l);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = words.data();
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
    return words;
  }
  static CUDA_RESOURCE_DESC Of(CUarray array) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
  static CUresult MakeTexture(CUarray array, CUtexObject* object, unsigned flags = 0) {
    const CUDA_RESOURCE_DESC resource = Of(array);
    CUDA_TEXTURE_DESC texture = {};
    for (CUaddress_mode& mode : texture.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    texture.flags = CU_TRSF_READ_AS_INTEGER | flags;
    return cuTexObjectCreate(object, &resource, &texture, nullptr);
  }
  static CUresult MakeSurface(CUarray array, CUsurfObject* object) {
    const CUDA_RESOURCE_DESC resource = Of(array);
    return cuSurfObjectCreate(object, &resource);
  }
  template <typename... Args>
  static CUresult Launch(CUfunction function, Args... args) {
    void* params[] = {static_cast<void*>(&args)..., nullptr};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
  }

  CUmodule module_ = nullptr;
  CUfunction read_texture_ = nullptr, add_to_surface_ = nullptr;
};

TEST_F(ArrayObjectTest, KernelsReadTextures) {
  for (const Lengths& l : kLengths) {
    const CUarray array = Make(l);
    const std::vector<unsigned> words = Fill(array, l);
    CUtexObject texture = 0;
    SIM_OK(MakeTexture(array, &texture));
    CUdeviceptr to = 0;
    SIM_OK(cuMemAlloc(&to, l.count() * sizeof(unsigned)));
    SIM_OK(Launch(read_texture_, texture, l.width, l.height, l.depth, to));
    std::vector<unsigned> seen(l.count());
    SIM_OK(cuMemcpyDtoH(seen.data(), to, l.count() * sizeof(unsigned)));
    EXPECT_EQ(seen, words);
    CUDA_RESOURCE_DESC resource = {};
    SIM_OK(cuTexObjectGetResourceDesc(&resource, texture));
    EXPECT_EQ(resource.res.array.hArray, array);
    SIM_OK(cuTexObjectDestroy(texture));
    SIM_OK(cuArrayDestroy(array));
  }
}

TEST_F(ArrayObjectTest, KernelsReadAndWriteSurfaces) {
  for (const Lengths& l : kLengths) {
    const CUarray array = Make(l, CUDA_ARRAY3D_SURFACE_LDST);
    std::vector<unsigned> words = Fill(array, l);
    CUsurfObject surface = 0;
    SIM_OK(MakeSurface(array, &surface));
    SIM_OK(Launch(add_to_surface_, surface, static_cast<int>(l.width), static_cast<int>(l.height),
                  static_cast<int>(l.depth), 7u));
    std::vector<unsigned> seen(l.count());
    CUDA_MEMCPY3D copy = Whole(l);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = seen.data();
    SIM_OK(cuMemcpy3D(&copy));
    for (unsigned& word : words) word += 7;
    EXPECT_EQ(seen, words);
    CUDA_RESOURCE_DESC resource = {};
    SIM_OK(cuSurfObjectGetResourceDesc(&resource, surface));
    EXPECT_EQ(resource.res.array.hArray, array);
    SIM_OK(cuSurfObjectDestroy(surface));
    EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_ERROR_INVALID_VALUE);
    SIM_OK(cuArrayDestroy(array));
  }
}

TEST_F(ArrayObjectTest, BeyondASurfaceKernelsFault) {
  CUcontext other = nullptr;
  SIM_OK(cuCtxCreate(&other, nullptr, 0, 0));
  SIM_OK(LoadKernels(array_kernels_images(), cuModuleLoadData, &module_));
  SIM_OK(cuModuleGetFunction(&add_to_surface_, module_, "add_to_surface"));
  CUsurfObject surface = 0;
  SIM_OK(MakeSurface(Make({12, 7, 1}, CUDA_ARRAY3D_SURFACE_LDST), &surface));
  SIM_OK(Launch(add_to_surface_, surface, 13, 7, 1, 7u));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuCtxDestroy(other));
  SIM_OK(cuCtxSetCurrent(context_));
}

TEST_F(ArrayObjectTest, WhatIsRefused) {
  constexpr Lengths kFlat = {12, 7, 1};
  unsigned long long object = 0;
  const CUarray plain = Make(kFlat);
  EXPECT_EQ(MakeSurface(plain, &object), CUDA_ERROR_INVALID_VALUE) << "not made for surfaces";
  EXPECT_EQ(MakeTexture(plain, &object, CU_TRSF_NORMALIZED_COORDINATES), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(MakeTexture(nullptr, &object), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(MakeSurface(nullptr, &object), CUDA_ERROR_INVALID_VALUE);
  const CUarray layers = Make({12, 7, 5}, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST);
  EXPECT_EQ(MakeTexture(layers, &object), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(MakeSurface(layers, &object), CUDA_ERROR_NOT_SUPPORTED);
  CUDA_RESOURCE_DESC resource = Of(plain);
  const CUDA_TEXTURE_DESC texture = {};
  const CUDA_RESOURCE_VIEW_DESC view = {};
  EXPECT_EQ(cuTexObjectCreate(&object, &resource, &texture, &view), CUDA_ERROR_NOT_SUPPORTED);
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  EXPECT_EQ(cuTexObjectCreate(&object, &resource, &texture, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuSurfObjectCreate(&object, &resource), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectCreate(&object, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object, 0u);
}

}  // namespace
}  // namespace simcuda
