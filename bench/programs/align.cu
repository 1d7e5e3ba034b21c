// Dynamic programming over a matrix, as Needleman and Wunsch align two sequences: each score comes
// of its neighbours left, above and between. Launches go over the anti-diagonals of tiles, so each
// touches a little of every row. Scores and similarities have four bytes each: 8 GiB by default.
//
// nvcc -O2 -arch=native -o align align.cu && ./align [--gib G] [--laps N] [--limit G]
#include <cmath>

#include "program.h"

constexpr int kTile = 64, kGap = 3;

__global__ void Fill(int* similar, size_t n) {
  for (size_t i = First(); i < n * n; i += Step()) {
    const uint64_t one = Mix(i / n) % 24, other = Mix(n + i % n) % 24;
    similar[i] = one == other ? 6 : static_cast<int>(Mix(one * 24 + other) % 8) - 5;
  }
}

// A score that may lie before the first row or column (of number -1), where all are gaps.
__device__ int Score(const int* scores, size_t n, long row, long column) {
  if (row < 0) return -kGap * static_cast<int>(column + 1);
  if (column < 0) return -kGap * static_cast<int>(row + 1);
  return scores[row * n + column];
}

// Tiles of a diagonal from `row` down, a block each. A thread goes along a row of its tile, one
// step behind the thread above it. Widths are such that threads come upon different banks.
__global__ void Align(const int* similar, int* scores, size_t n, int diagonal, int row) {
  __shared__ int tile[kTile + 1][kTile + 2], like[kTile][kTile];
  row += blockIdx.x;
  const int i = threadIdx.x;
  const long top = static_cast<long>(row) * kTile, left = static_cast<long>(diagonal - row) * kTile;
  for (int r = 0; r < kTile; ++r) like[r][i] = similar[(top + r) * n + left + i];
  tile[0][i + 1] = Score(scores, n, top - 1, left + i);
  tile[i + 1][0] = Score(scores, n, top + i, left - 1);
  if (i == 0) tile[0][0] = Score(scores, n, top - 1, left - 1);
  __syncthreads();
  for (int step = 0; step < 2 * kTile - 1; ++step) {
    const int j = step - i;
    if (j >= 0 && j < kTile)
      tile[i + 1][j + 1] = max(tile[i][j] + like[i][j], max(tile[i][j + 1], tile[i + 1][j]) - kGap);
    __syncthreads();
  }
  for (int r = 0; r < kTile; ++r) scores[(top + r) * n + left + i] = tile[r + 1][i + 1];
}

// Counts the scores that do not come of their neighbours: if there is none, all are right.
__global__ void Check(const int* similar, const int* scores, size_t n, unsigned long long* wrong) {
  for (size_t i = First(); i < n * n; i += Step()) {
    const long row = static_cast<long>(i / n), column = static_cast<long>(i % n);
    const int with = Score(scores, n, row - 1, column - 1) + similar[i];
    const int without = max(Score(scores, n, row - 1, column), Score(scores, n, row, column - 1));
    if (scores[i] != max(with, without - kGap)) atomicAdd(wrong, 1);
  }
}

// What must cross: of S bytes half are read once a lap and half are written once. Each byte that
// is on the host at any time of a lap crosses at least once: it is read or written there, or it
// moves. Where half of the S - B beyond the limit are of either kind, both ways are busy alike.
double Bound(const Options& options, size_t bytes) {
  return options.Beyond(static_cast<double>(bytes)) / 2 / options.link.both * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 8);
  const int tiles = static_cast<int>(std::ceil(std::sqrt(options.Bytes() / 8) / kTile));
  const size_t n = static_cast<size_t>(tiles) * kTile;
  int* similar = Allocate<int>(n * n);
  int* scores = Allocate<int>(n * n);
  const size_t peak = allocated_bytes;
  Fill<<<2048, 256>>>(similar, n);
  OK(cudaMemset(scores, 0, n * n * sizeof(int)));

  const std::vector<double> times = Repeated(
      [&] {
        for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
          const int first = std::max(0, diagonal - tiles + 1), last = std::min(diagonal, tiles - 1);
          Align<<<last - first + 1, kTile>>>(similar, scores, n, diagonal, first);
        }
      },
      options.laps);

  unsigned long long *device_wrong = Allocate<unsigned long long>(1), wrong = 0;
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  Check<<<2048, 256>>>(similar, scores, n, device_wrong);
  OK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  return Report(options, Digest(scores, n * n * sizeof(int)), wrong == 0, peak,
                OfLaps(options, times, Bound(options, peak)));
}
