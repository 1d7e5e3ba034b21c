/* A C program on the installed package: creates a runtime, allocates, asks, frees. */
#include <stdio.h>
#include <vramspan/vramspan.h>

static int Failed(const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return 0;
  fprintf(stderr, "consumer_c: %s: error %d: %s\n", call, (int)result, vramspanLastErrorMessage());
  return 1;
}

int main(void) {
  const size_t wanted = (3 << 20) + 1;
  vramspanConfig config = {.struct_size = sizeof(config), .device_memory = "8MiB"};
  vramspanRuntime runtime;
  CUdeviceptr ptr, base;
  size_t size;
  if (Failed("vramspanCreate", vramspanCreate(&runtime, &config))) return 1;
  if (Failed("vramspanMemAlloc", vramspanMemAlloc(runtime, &ptr, wanted))) return 1;
  if (Failed("vramspanMemGetAddressRange",
             vramspanMemGetAddressRange(runtime, &base, &size, ptr + wanted - 1))) {
    return 1;
  }
  if (base != ptr || size != wanted) {
    fprintf(stderr, "consumer_c: the allocation is not where it was made\n");
    return 1;
  }
  if (Failed("vramspanMemFree", vramspanMemFree(runtime, ptr))) return 1;
  if (Failed("vramspanDestroy", vramspanDestroy(runtime))) return 1;
  printf("consumer_c: right, with vramspan %s\n", vramspanVersion());
  return 0;
}
