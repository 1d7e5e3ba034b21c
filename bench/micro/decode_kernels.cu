// The kernels that decode_bench's launches name; none is run.

struct DecodeBlock {
  void* pointers[512];
};

extern "C" __global__ void eight(int* a, int* b, int* c, int* d, int* e, int* f, long long g,
                                 long long h) {
  *a = *b = *c = *d = *e = *f = static_cast<int>(g + h);
}
SIMCUDA_EXPORT(eight);

extern "C" __global__ void block(DecodeBlock block) { *static_cast<int*>(block.pointers[0]) = 1; }
SIMCUDA_EXPORT(block);
