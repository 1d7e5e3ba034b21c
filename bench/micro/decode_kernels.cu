// The kernels that the launches of decode_bench and launch_bench name; none is run.

struct DecodeSome {
  void* words[216];
};

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

extern "C" __global__ void some(DecodeSome some) { *static_cast<int*>(some.words[1]) = 1; }
SIMCUDA_EXPORT(some);
