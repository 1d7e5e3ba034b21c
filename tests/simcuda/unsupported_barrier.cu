// Must not compile for the host.
extern "C" __global__ void uses_a_barrier(float* out) {
  out[threadIdx.x] = 1.0f;
  __syncthreads();
}
SIMCUDA_EXPORT(uses_a_barrier);
