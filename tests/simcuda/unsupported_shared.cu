// Must not compile for the host.
extern "C" __global__ void uses_shared_memory(float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
SIMCUDA_EXPORT(uses_shared_memory);
