// What OptiX runs for rays.cu: each ray goes straight down, and its triangle is written.
#include <optix.h>

#include "rays_launch.h"

// OptiX fills it before a launch, and finds it by this name.
extern "C" {
__constant__ Launch launch;
}

extern "C" __global__ void __raygen__look() {
  const uint3 ray = optixGetLaunchIndex();
  const float3 from = make_float3(static_cast<float>(RayPlace(ray.x)),
                                  static_cast<float>(RayPlace(ray.y)), static_cast<float>(kSky));
  // Neither program below leaves it so.
  unsigned hit = kMiss - 1;
  optixTrace(launch.scene, from, make_float3(0, 0, -1), /*tmin=*/0.0f, /*tmax=*/2.0f * kSky,
             /*rayTime=*/0.0f, OptixVisibilityMask(255), OPTIX_RAY_FLAG_DISABLE_ANYHIT,
             /*SBToffset=*/0, /*SBTstride=*/1, /*missSBTIndex=*/0, hit);
  launch.hits[ray.y * kSide + ray.x] = hit;
}

extern "C" __global__ void __miss__sky() { optixSetPayload_0(kMiss); }

extern "C" __global__ void __closesthit__triangle() { optixSetPayload_0(optixGetPrimitiveIndex()); }
