// Rays that OptiX sends through a million triangles, and words that the triangles they meet change:
// 4 GiB of words by default. Three quarters are from before the program had a context of OptiX, so
// are the triangles and what the rays meet. The rest is from after that, and so is what OptiX
// builds. A lap moves the triangles, refits the structure, sends the rays and changes all words.
//
// With `early` OptiX builds in memory from before, too. With `ask` it is only loaded, and a kernel
// tells what the rays meet: the result is the same. With `validate` OptiX looks for mistakes.
//
// nvcc -optix-ir -rdc=true -arch=compute_75 -I "$OPTIX_HEADERS" -o rays.optixir rays_device.cu
// nvcc -O2 -arch=native -I "$OPTIX_HEADERS" -o rays rays.cu
// ./rays [ask|early] [validate] [--gib G] [--laps N] [--limit G]
#include <memory>

#include "rays_pipeline.h"
#include "rays_scene.h"
#include "rays_structure.h"

constexpr int kBlocks = 2048, kThreads = 256;
constexpr uint32_t kParts = 16, kEarlyParts = 12;
// Enough for all that OptiX builds.
constexpr size_t kEarlyBytes = size_t{1} << 30;

// What OptiX has in this program.
struct Optix {
  OptixContext context;
  Pipeline pipeline;
  Structure structure;

  Optix(bool validate, const float4* corners, StructureMemory* memory)
      : context(validate), pipeline(context), structure(context, corners, memory) {}
  void Look(uint32_t* hits) {
    structure.Refit();
    pipeline.Run({structure.handle(), hits});
  }
};

class Words {
 public:
  explicit Words(double bytes) : count_(static_cast<size_t>(bytes / 4 / kParts)) {}
  void Add(uint32_t parts) {
    for (; parts > 0; --parts) {
      words_.push_back(Allocate<uint32_t>(count_));
      Begin<<<kBlocks, kThreads>>>(words_.back(), count_, Number() - 1);
      OK(cudaGetLastError());
    }
    OK(cudaDeviceSynchronize());
  }
  void ChangeBy(const uint32_t* hits) {
    for (uint32_t* words : words_) Change<<<kBlocks, kThreads>>>(words, count_, hits);
  }
  uint64_t Check(uint32_t laps, unsigned long long* wrong) const {
    uint64_t digest = 0;
    for (uint32_t i = 0; i < Number(); ++i) {
      CheckWords<<<kBlocks, kThreads>>>(words_[i], count_, i, laps, wrong);
      digest = Mix(digest) + Digest(words_[i], count_ * 4);
    }
    return digest;
  }

 private:
  uint32_t Number() const { return static_cast<uint32_t>(words_.size()); }

  size_t count_;
  std::vector<uint32_t*> words_;
};

// What must cross: each byte is read and written once a lap, so of S bytes S - B cross each way. Of
// what is from after the context all is on the device, and S is what is from before.
double Bound(const Options& options, size_t bytes) {
  return options.Beyond(static_cast<double>(bytes)) / options.link.both * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 4, 8, {"ask", "early", "validate"});
  // They are filled first, and so are what leaves the device where memory is short.
  float4* corners = Allocate<float4>(size_t{3} * kTriangles);
  uint32_t* hits = Allocate<uint32_t>(kRays);
  Place<<<kBlocks, kThreads>>>(corners, 0);
  OK(cudaMemset(hits, 0, kRays * sizeof *hits));
  StructureMemory memory(options.Has("early") ? kEarlyBytes : 0);
  Words words(options.Bytes());
  words.Add(kEarlyParts);
  const size_t early_bytes = allocated_bytes;

  LoadOptix();
  std::unique_ptr<Optix> optix;
  if (!options.Has("ask"))
    optix = std::make_unique<Optix>(options.Has("validate"), corners, &memory);
  words.Add(kParts - kEarlyParts);
  const size_t peak = allocated_bytes;

  uint32_t lap = 0;
  const std::vector<double> times = Repeated(
      [&] {
        Place<<<kBlocks, kThreads>>>(corners, ++lap);
        if (optix) {
          optix->Look(hits);
        } else {
          Foretell<<<kBlocks, kThreads>>>(hits, lap);
        }
        words.ChangeBy(hits);
      },
      options.laps);

  unsigned long long *device_wrong = Allocate<unsigned long long>(2), wrong[2];
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  CheckHits<<<kBlocks, kThreads>>>(hits, lap, device_wrong);
  const uint64_t digest = words.Check(lap, device_wrong + 1) ^ Mix(Digest(hits, kRays * 4));
  OK(cudaMemcpy(wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  if (wrong[0] + wrong[1] > 0)
    std::fprintf(stderr, "rays: %llu of %zu rays and %llu words are wrong\n", wrong[0], kRays,
                 wrong[1]);
  return Report(options, digest, wrong[0] + wrong[1] == 0, peak,
                OfLaps(options, times, Bound(options, optix ? early_bytes : peak)));
}
