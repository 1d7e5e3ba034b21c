// A stencil with two buffers: each step reads the one and writes the other. The heat in a cube of
// n^3 cells, seven points; 8 GiB by default. A lap is two steps, there and back.
//
// nvcc -O2 -arch=native -o stencil stencil.cu && ./stencil [--gib G] [--laps N] [--limit G]
#include <cmath>

#include "program.h"

constexpr float kRate = 0.1f;
// After so many laps the waves begin anew: of smaller ones rounding would be too much to check.
constexpr size_t kMostLaps = 150;

// What is outside has the warmth of the cell at the edge: no heat gets lost.
__global__ void Spread(const float* from, float* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x >= n || y >= n) return;
  const size_t row = n, plane = row * n, i = z * plane + y * row + x;
  const float c = from[i];
  const float west = x > 0 ? from[i - 1] : c, east = x + 1 < n ? from[i + 1] : c;
  const float north = y > 0 ? from[i - row] : c, south = y + 1 < n ? from[i + row] : c;
  const float below = z > 0 ? from[i - plane] : c, above = z + 1 < n ? from[i + plane] : c;
  to[i] = c + kRate * (west + east + north + south + below + above - 6 * c);
}

// waves[axis * n + i] is a standing wave along an axis. Their product keeps its form, and shrinks
// in each step by the same factor: so every cell is known without the kernel above.
__global__ void Begin(float* cells, const double* waves, int n) {
  const size_t row = n, count = row * n * n;
  for (size_t i = First(); i < count; i += Step())
    cells[i] = waves[i % row] * waves[row + i / row % row] * waves[2 * row + i / row / row];
}

__global__ void Check(const float* cells, const double* waves, int n, double factor,
                      unsigned long long* wrong) {
  // What rounding changes shrinks with the waves, but for the last bits of what was large.
  const double tolerance = 1e-4 * factor + 1e-6;
  const size_t row = n, count = row * n * n;
  for (size_t i = First(); i < count; i += Step()) {
    const double expected =
        factor * waves[i % row] * waves[row + i / row % row] * waves[2 * row + i / row / row];
    if (!(fabs(cells[i] - expected) < tolerance)) atomicAdd(wrong, 1);
  }
}

// What must cross: S bytes in two buffers, B of them on the device at any time. Each byte is read
// once a lap and written once, in another step. One that is on the host at any time of a lap is
// either written there (out) and then read (in), or leaves changed (out) and comes back (in). So
// S - B cross each way in a lap. A runtime that knew each old buffer to be dead would need less.
double Bound(const Options& options, size_t bytes) {
  return options.Beyond(static_cast<double>(bytes)) / options.link.both * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 12);
  const int n =
      static_cast<int>(std::ceil(std::cbrt(options.Bytes() / (2 * sizeof(float))) - 1e-6));
  const size_t count = static_cast<size_t>(n) * n * n;
  float* cells = Allocate<float>(count);
  float* others = Allocate<float>(count);
  const size_t peak = allocated_bytes;

  std::vector<double> waves;
  double shrinks = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const double wave = std::acos(-1.0) * (n / (10 + axis)) / n;
    for (int i = 0; i < n; ++i) waves.push_back(std::cos(wave * (i + 0.5)));
    shrinks += kRate * (2 * std::cos(wave) - 2);
  }
  double* device_waves = Allocate<double>(waves.size());
  OK(cudaMemcpy(device_waves, waves.data(), waves.size() * sizeof(double), cudaMemcpyHostToDevice));
  unsigned long long *device_wrong = Allocate<unsigned long long>(1), wrong = 0;
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  Begin<<<2048, 256>>>(cells, device_waves, n);

  const dim3 threads(64, 4), blocks((n + 63) / 64, (n + 3) / 4, n);
  size_t laps = 0;
  const std::vector<double> times = Repeated(
      [&] {
        if (laps == kMostLaps) {
          Begin<<<2048, 256>>>(cells, device_waves, n);
          laps = 0;
        }
        ++laps;
        Spread<<<blocks, threads>>>(cells, others, n);
        Spread<<<blocks, threads>>>(others, cells, n);
      },
      options.laps);

  const double factor = std::pow(shrinks, 2.0 * static_cast<double>(laps));
  Check<<<2048, 256>>>(cells, device_waves, n, factor, device_wrong);
  OK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  return Report(options, Digest(cells, count * sizeof(float)), wrong == 0, peak,
                OfLaps(options, times, Bound(options, peak)));
}
