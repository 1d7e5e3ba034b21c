// The structure of triangles that OptiX searches for rays.cu. OptiX builds, compacts and refits it.
#ifndef VRAMSPAN_BENCH_PROGRAMS_RAYS_STRUCTURE_H_
#define VRAMSPAN_BENCH_PROGRAMS_RAYS_STRUCTURE_H_

#include "rays_launch.h"
#include "rays_optix.h"

// Where structures lie: in an allocation that was made before there was a context of OptiX, or in
// one each.
class StructureMemory {
 public:
  // With no byte each has its own.
  explicit StructureMemory(size_t early_bytes) : bytes_(early_bytes) {
    if (bytes_ == 0) return;
    early_ = Allocate<char>(bytes_);
    OK(cudaMemset(early_, 0, bytes_));
  }
  // As aligned as memory of cudaMalloc.
  char* Take(size_t bytes) {
    if (early_ == nullptr) return Allocate<char>(bytes);
    bytes = (bytes + 255) / 256 * 256;
    if (bytes > bytes_ - used_) {
      std::fprintf(stderr, "rays: OptiX needs %zu bytes more, and of %zu early ones %zu are used\n",
                   bytes, bytes_, used_);
      std::exit(3);
    }
    used_ += bytes;
    return early_ + used_ - bytes;
  }
  // What is early stays taken.
  void Give(char* p, size_t bytes) {
    if (early_ != nullptr) return;
    OK(cudaFree(p));
    allocated_bytes -= bytes;
  }

 private:
  size_t bytes_, used_ = 0;
  char* early_ = nullptr;
};

// Three corners a triangle, kTriangles of them. They may move, and Refit then follows them.
class Structure {
 public:
  Structure(const OptixContext& context, const float4* corners, StructureMemory* memory)
      : context_(context.get()), corners_(Address(corners)) {
    const OptixBuildInput input = Input();
    const OptixAccelBuildOptions options = BuildOptions(OPTIX_BUILD_OPERATION_BUILD);
    OptixAccelBufferSizes sizes{};
    OPTIX_OK(optixAccelComputeMemoryUsage(context_, &options, &input, 1, &sizes));
    char* const built = memory->Take(sizes.outputSizeInBytes);
    char* const temporary = memory->Take(sizes.tempSizeInBytes);
    char* const device_bytes = memory->Take(sizeof(uint64_t));
    OptixAccelEmitDesc emitted{};
    emitted.type = OPTIX_PROPERTY_TYPE_COMPACTED_SIZE;
    emitted.result = Address(device_bytes);
    OPTIX_OK(optixAccelBuild(context_, kStream, &options, &input, 1, Address(temporary),
                             sizes.tempSizeInBytes, Address(built), sizes.outputSizeInBytes,
                             &handle_, &emitted, 1));
    uint64_t bytes = 0;
    OK(cudaMemcpy(&bytes, device_bytes, sizeof bytes, cudaMemcpyDeviceToHost));
    bytes_ = bytes;
    structure_ = memory->Take(bytes_);
    OPTIX_OK(optixAccelCompact(context_, kStream, handle_, Address(structure_), bytes_, &handle_));
    OK(cudaDeviceSynchronize());
    std::fprintf(stderr, "rays: the structure has %zu KiB, and had %zu before\n", bytes_ >> 10,
                 sizes.outputSizeInBytes >> 10);
    memory->Give(built, sizes.outputSizeInBytes);
    memory->Give(temporary, sizes.tempSizeInBytes);
    memory->Give(device_bytes, sizeof(uint64_t));
    refit_bytes_ = sizes.tempUpdateSizeInBytes;
    refit_ = memory->Take(std::max<size_t>(refit_bytes_, 1));
  }
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;

  void Refit() {
    const OptixBuildInput input = Input();
    const OptixAccelBuildOptions options = BuildOptions(OPTIX_BUILD_OPERATION_UPDATE);
    OPTIX_OK(optixAccelBuild(context_, kStream, &options, &input, 1, Address(refit_), refit_bytes_,
                             Address(structure_), bytes_, &handle_, nullptr, 0));
  }
  OptixTraversableHandle handle() const { return handle_; }

 private:
  // The stream of the program's kernels.
  static constexpr CUstream kStream = nullptr;

  static OptixAccelBuildOptions BuildOptions(OptixBuildOperation operation) {
    OptixAccelBuildOptions options{};
    options.buildFlags = OPTIX_BUILD_FLAG_ALLOW_COMPACTION | OPTIX_BUILD_FLAG_ALLOW_UPDATE |
                         OPTIX_BUILD_FLAG_PREFER_FAST_TRACE;
    options.operation = operation;
    return options;
  }
  // Points into *this.
  OptixBuildInput Input() const {
    OptixBuildInput input{};
    input.type = OPTIX_BUILD_INPUT_TYPE_TRIANGLES;
    OptixBuildInputTriangleArray& triangles = input.triangleArray;
    triangles.vertexBuffers = &corners_;
    triangles.numVertices = 3 * kTriangles;
    triangles.vertexFormat = OPTIX_VERTEX_FORMAT_FLOAT3;
    triangles.vertexStrideInBytes = sizeof(float4);
    triangles.flags = &flags_;
    triangles.numSbtRecords = 1;
    return input;
  }

  OptixDeviceContext context_;
  CUdeviceptr corners_;
  unsigned flags_ = OPTIX_GEOMETRY_FLAG_DISABLE_ANYHIT;
  OptixTraversableHandle handle_ = 0;
  char *structure_ = nullptr, *refit_ = nullptr;
  size_t bytes_ = 0, refit_bytes_ = 0;
};

#endif  // VRAMSPAN_BENCH_PROGRAMS_RAYS_STRUCTURE_H_
