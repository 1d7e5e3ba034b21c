// Kernels that reach arrays by textures and surfaces.

extern "C" __global__ void read_texture(cudaTextureObject_t texture, unsigned width,
                                        unsigned height, unsigned depth, unsigned* to) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (unsigned z = 0; z < depth; ++z) {
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        const float fx = static_cast<float>(x) + 0.5f, fy = static_cast<float>(y) + 0.5f;
        const float fz = static_cast<float>(z) + 0.5f;
        unsigned value;
        if (depth > 1) {
          value = tex3D<unsigned>(texture, fx, fy, fz);
        } else if (height > 1) {
          value = tex2D<unsigned>(texture, fx, fy);
        } else {
          value = tex1D<unsigned>(texture, fx);
        }
        to[(z * height + y) * width + x] = value;
      }
    }
  }
}
SIMCUDA_EXPORT(read_texture);

// To every element.
extern "C" __global__ void add_to_surface(cudaSurfaceObject_t surface, int width, int height,
                                          int depth, unsigned value) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (int z = 0; z < depth; ++z) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int at = x * static_cast<int>(sizeof(unsigned));
        if (depth > 1) {
          surf3Dwrite(surf3Dread<unsigned>(surface, at, y, z) + value, surface, at, y, z);
        } else if (height > 1) {
          surf2Dwrite(surf2Dread<unsigned>(surface, at, y) + value, surface, at, y);
        } else {
          surf1Dwrite(surf1Dread<unsigned>(surface, at) + value, surface, at);
        }
      }
    }
  }
}
SIMCUDA_EXPORT(add_to_surface);
