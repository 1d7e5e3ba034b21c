// The pipeline of rays.cu: the code of rays_device.cu, as OptiX compiles and starts it.
#ifndef VRAMSPAN_BENCH_PROGRAMS_RAYS_PIPELINE_H_
#define VRAMSPAN_BENCH_PROGRAMS_RAYS_PIPELINE_H_

#include <filesystem>
#include <fstream>
#include <iterator>

#include "rays_launch.h"
#include "rays_optix.h"

class Pipeline {
 public:
  explicit Pipeline(const OptixContext& context) : context_(context.get()) {
    options_.traversableGraphFlags = OPTIX_TRAVERSABLE_GRAPH_FLAG_ALLOW_SINGLE_GAS;
    options_.numPayloadValues = 1;
    options_.numAttributeValues = 2;
    options_.exceptionFlags = OPTIX_EXCEPTION_FLAG_NONE;
    options_.pipelineLaunchParamsVariableName = "launch";
    options_.usesPrimitiveTypeFlags = static_cast<unsigned>(OPTIX_PRIMITIVE_TYPE_FLAGS_TRIANGLE);
    MakeModule();
    MakeGroups();
    OptixPipelineLinkOptions link{};
    link.maxTraceDepth = 1;
    OPTIX_OK(optixPipelineCreate(context_, &options_, &link, groups_, kGroups, nullptr, nullptr,
                                 &pipeline_));
    SetStack();
    MakeTable();
    launch_ = Allocate<Launch>(1);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    OPTIX_OK(optixPipelineDestroy(pipeline_));
    for (OptixProgramGroup group : groups_) OPTIX_OK(optixProgramGroupDestroy(group));
    OPTIX_OK(optixModuleDestroy(module_));
  }

  // A ray for each of kSide rows of kSide.
  void Run(const Launch& launch) {
    OK(cudaMemcpyAsync(launch_, &launch, sizeof launch, cudaMemcpyHostToDevice));
    OPTIX_OK(optixLaunch(pipeline_, /*stream=*/nullptr, Address(launch_), sizeof launch, &table_,
                         kSide, kSide, /*depth=*/1));
  }

 private:
  // In this order they stand in groups_ and in the table.
  enum Group { kLook, kSky, kTriangle, kGroups };
  struct alignas(OPTIX_SBT_RECORD_ALIGNMENT) Record {
    char header[OPTIX_SBT_RECORD_HEADER_SIZE];
  };

  // Of the code beside the program, what OptiX takes: its own intermediate form, or PTX.
  void MakeModule() {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    OptixModuleCompileOptions options{};
    options.optLevel = OPTIX_COMPILE_OPTIMIZATION_DEFAULT;
    options.debugLevel = OPTIX_COMPILE_DEBUG_LEVEL_NONE;
    for (const char* name : {"rays.optixir", "rays.ptx"}) {
      std::ifstream file(folder / name, std::ios::binary);
      if (!file) continue;
      const std::string code{std::istreambuf_iterator<char>(file), {}};
      const OptixResult result = optixModuleCreate(context_, &options, &options_, code.data(),
                                                   code.size(), nullptr, nullptr, &module_);
      if (result == OPTIX_SUCCESS) return;
      std::fprintf(stderr, "rays: OptiX makes no module of %s: %s (%d)\n", name,
                   optixGetErrorName(result), static_cast<int>(result));
    }
    std::fprintf(stderr, "rays: no usable code is in %s; README.md says how to make rays.optixir\n",
                 folder.c_str());
    std::exit(3);
  }

  void MakeGroups() {
    OptixProgramGroupDesc descriptions[kGroups]{};
    descriptions[kLook].kind = OPTIX_PROGRAM_GROUP_KIND_RAYGEN;
    descriptions[kLook].raygen.module = module_;
    descriptions[kLook].raygen.entryFunctionName = "__raygen__look";
    descriptions[kSky].kind = OPTIX_PROGRAM_GROUP_KIND_MISS;
    descriptions[kSky].miss.module = module_;
    descriptions[kSky].miss.entryFunctionName = "__miss__sky";
    descriptions[kTriangle].kind = OPTIX_PROGRAM_GROUP_KIND_HITGROUP;
    descriptions[kTriangle].hitgroup.moduleCH = module_;
    descriptions[kTriangle].hitgroup.entryFunctionNameCH = "__closesthit__triangle";
    const OptixProgramGroupOptions options{};
    OPTIX_OK(optixProgramGroupCreate(context_, descriptions, kGroups, &options, nullptr, nullptr,
                                     groups_));
  }

  // The first program traces rays, and those that this runs trace none. Nothing else is called.
  void SetStack() {
    OptixStackSizes of[kGroups]{};
    for (int i = 0; i < kGroups; ++i)
      OPTIX_OK(optixProgramGroupGetStackSize(groups_[i], &of[i], pipeline_));
    const unsigned continuation = of[kLook].cssRG + std::max(of[kSky].cssMS, of[kTriangle].cssCH);
    OPTIX_OK(optixPipelineSetStackSize(pipeline_, 0, 0, continuation,
                                       /*maxTraversableGraphDepth=*/1));
  }

  void MakeTable() {
    Record records[kGroups]{};
    for (int i = 0; i < kGroups; ++i) OPTIX_OK(optixSbtRecordPackHeader(groups_[i], &records[i]));
    Record* const device = Allocate<Record>(kGroups);
    OK(cudaMemcpy(device, records, sizeof records, cudaMemcpyHostToDevice));
    table_.raygenRecord = Address(device + kLook);
    table_.missRecordBase = Address(device + kSky);
    table_.missRecordStrideInBytes = sizeof(Record);
    table_.missRecordCount = 1;
    table_.hitgroupRecordBase = Address(device + kTriangle);
    table_.hitgroupRecordStrideInBytes = sizeof(Record);
    table_.hitgroupRecordCount = 1;
  }

  OptixDeviceContext context_;
  OptixPipelineCompileOptions options_{};
  OptixModule module_ = nullptr;
  OptixProgramGroup groups_[kGroups]{};
  OptixPipeline pipeline_ = nullptr;
  OptixShaderBindingTable table_{};
  Launch* launch_ = nullptr;
};

#endif  // VRAMSPAN_BENCH_PROGRAMS_RAYS_PIPELINE_H_
