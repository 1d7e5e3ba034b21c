// A blocked LU factorisation in place, without pivots. All kernels name the whole matrix and touch
// parts: block columns of 256, each by tiles of 64, and then what is right of it and below. A lap
// fills the matrix and factorises it; 8 GiB by default.
//
// nvcc -O2 -arch=native -o lu lu.cu && ./lu [--gib G] [--laps N] [--limit G]
#include <cmath>

#include "lu_kernels.h"

void Factorise(float* m, size_t n) {
  for (size_t start = 0; start < n; start += kPanel) {
    const size_t end = std::min(n, start + kPanel);
    const auto right = static_cast<unsigned>((n - end) / kTile);
    for (size_t k = start; k < end; k += kTile) {
      const size_t next = k + kTile;
      const auto below = static_cast<unsigned>((n - next) / kTile);
      const auto inside = static_cast<unsigned>((end - next) / kTile);
      Diagonal<<<1, kTile>>>(m, n, k);
      if (below > 0) Lower<<<below, kTile>>>(m, n, k, next);
      if (inside > 0) {
        Upper<<<inside, kTile>>>(m, n, k, next);
        Subtract<<<dim3(inside, below), 256>>>(m, n, k, kTile, next, next);
      }
    }
    if (right == 0) return;
    for (size_t k = start; k < end; k += kTile) {
      const size_t next = k + kTile;
      const auto inside = static_cast<unsigned>((end - next) / kTile);
      Upper<<<right, kTile>>>(m, n, k, end);
      if (inside > 0) Subtract<<<dim3(right, inside), 256>>>(m, n, k, kTile, next, end);
    }
    Subtract<<<dim3(right, right), 256>>>(m, n, start, kPanel, end, end);
  }
}

// Whether L (U x) is what the matrix gives that was factorised, for one x.
bool Right(const float* m, size_t n) {
  std::vector<double> x(n), expected(n), found(n);
  for (size_t i = 0; i < n; ++i) x[i] = Mix(i) % 2 ? 1 : -1;
  double* in = Allocate<double>(n);
  double* out = Allocate<double>(n);
  OK(cudaMemcpy(in, x.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  const auto rows = static_cast<unsigned>(n);
  Rows<<<rows, 256>>>(m, n, Part::kGiven, in, out);
  OK(cudaMemcpy(expected.data(), out, n * sizeof(double), cudaMemcpyDeviceToHost));
  Rows<<<rows, 256>>>(m, n, Part::kUpper, in, out);
  Rows<<<rows, 256>>>(m, n, Part::kLower, out, in);
  OK(cudaMemcpy(found.data(), in, n * sizeof(double), cudaMemcpyDeviceToHost));
  double worst = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(found[i])) return false;
    worst = std::max(worst, std::abs(found[i] - expected[i]));
  }
  return worst < 3e-5 * OnDiagonal(n);
}

// What must cross: each block column changes all that is right of it and below, a square of S_k
// bytes. Of these at most B are on the device before, and at most B after: S_k - B come in, by a
// copy or where a kernel reads them in place, and S_k - B leave changed. The fill before all of
// that leaves S - B on the host.
double Bound(const Options& options, size_t n) {
  double both = 0;
  for (size_t end = kPanel; end < n; end += kPanel) {
    const auto side = static_cast<double>(n - end);
    both += options.Beyond(side * side * sizeof(float));
  }
  const double filled = options.Beyond(static_cast<double>(n * n * sizeof(float)));
  return (both / options.link.both + filled / options.link.out) * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 3);
  const auto side = static_cast<size_t>(std::sqrt(options.Bytes() / sizeof(float)));
  const size_t n = (side + kTile - 1) / kTile * kTile;
  float* m = Allocate<float>(n * n);
  const size_t peak = allocated_bytes;
  const std::vector<double> times = Repeated(
      [&] {
        Fill<<<2048, 256>>>(m, n);
        Factorise(m, n);
      },
      options.laps);
  const uint64_t digest = Digest(m, n * n * sizeof(float));
  return Report(options, digest, Right(m, n), peak, OfLaps(options, times, Bound(options, n)));
}
