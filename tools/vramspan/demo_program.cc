#include "tools/vramspan/demo_program.h"

#include <algorithm>

namespace vramspan::demo {
namespace {

constexpr size_t kGranule = size_t{2} << 20;
constexpr size_t kMaxBlockCount = 64;
constexpr size_t kRowsOfWeights = 64;
constexpr size_t kActivations = 2;
constexpr size_t kPieceWords = size_t{1} << 18;  // 1 MiB
constexpr int kRoundsAhead = 2;

// Streams of the device: the layers run on one, the sweeps on the other.
constexpr size_t kLayers = 0;
constexpr size_t kSweeps = 1;

}  // namespace

Shape Shape::For(Bytes data) {
  Shape shape;
  const size_t granules = (data.value + kGranule - 1) / kGranule;
  const size_t granules_a_block = (granules + kMaxBlockCount - 1) / kMaxBlockCount;
  const size_t blocks = (granules + granules_a_block - 1) / granules_a_block;
  shape.blocks = (blocks + 3) / 4 * 4;
  shape.block_bytes = granules_a_block * kGranule;
  return shape;
}

size_t Shape::width() const { return words() / kRowsOfWeights; }

Bytes Shape::total_bytes() const {
  return data_bytes() + Bytes(kActivations * width() * sizeof(uint32_t)) +
         Bytes(2 * (blocks + kActivations) * sizeof(unsigned long long));
}

Program::Program(const Device& device, const Runtime& runtime, const Shape& shape, bool declares)
    : device_(device),
      runtime_(runtime),
      shape_(shape),
      declares_(declares),
      ended_(static_cast<size_t>(shape.rounds), nullptr) {
  for (size_t i = 0; i < kActivations; ++i)
    activations_.push_back(runtime.alloc<uint32_t>(shape_.width()));
  sums_ = runtime.alloc<unsigned long long>(2 * (shape.blocks + kActivations));
  // In turn, so that weights and state each lie partly where the budget ends.
  for (size_t i = 0; i < shape.blocks / 2; ++i) {
    weights_.push_back(runtime.alloc<uint32_t>(shape_.words()));
    state_.push_back(runtime.alloc<uint32_t>(shape_.words()));
  }
  device.Check(device.api().MemHostAlloc(&host_, kPieceWords * sizeof(uint32_t), 0),
               "cuMemHostAlloc");
  for (CUevent& event : ended_) {
    device.Check(device.api().EventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
}

Program::~Program() {
  // After an error work may still be running, and it uses what is freed here.
  for (size_t s : {kLayers, kSweeps}) device_.api().StreamSynchronize(device_.stream(s));
  for (CUevent event : ended_) {
    if (event != nullptr) device_.api().EventDestroy(event);
  }
  if (host_ != nullptr) device_.api().MemFreeHost(host_);
}

template <typename Launch>
void Program::Submit(CUstream stream, std::initializer_list<vramspanRange> ranges,
                     Launch&& launch) const {
  if (!declares_) return launch();
  runtime_.submit(stream, ranges, launch);
}

template <typename T>
void Program::Upload(CUstream stream, const Buffer<T>& to, std::span<const T> from) const {
  const auto copy = device_.api().MemcpyHtoDAsync;
  if (declares_) return runtime_.upload(stream, to, from, copy);
  device_.Check(copy(to.ptr(), from.data(), from.size_bytes(), stream), "cuMemcpyHtoDAsync");
}

template <typename T>
void Program::Download(CUstream stream, std::span<T> to, const Buffer<T>& from,
                       size_t first) const {
  const auto copy = device_.api().MemcpyDtoHAsync;
  if (declares_) return runtime_.download(stream, to, from, copy, first);
  const Region region = from.region(first, to.size());
  device_.Check(copy(to.data(), region.ptr, region.bytes, stream), "cuMemcpyDtoHAsync");
}

void Program::Fill() {
  uint32_t seed = 1;
  const auto fill = [&](const Words& block, CUstream stream, bool floats) {
    Submit(stream, {write(block)}, [&] {
      uint32_t* data = block.data();
      size_t count = block.size();
      device_.Launch(floats ? Device::kFillFloats : Device::kFillIntegers, stream, count,
                     {&data, &count, &seed});
    });
    seed += 0x10001;
  };
  for (const Words& block : weights_) fill(block, device_.stream(kLayers), false);
  for (size_t i = 0; i < state_.size(); ++i) {
    fill(state_[i], device_.stream(kSweeps), i % 2 == 1);
  }
  for (const Words& block : activations_) fill(block, device_.stream(kLayers), false);
  for (size_t s : {kLayers, kSweeps}) {
    device_.Check(device_.api().StreamSynchronize(device_.stream(s)), "cuStreamSynchronize");
  }
}

void Program::Run(const std::function<void(int)>& progress) {
  const auto wait = [&](int round) {
    device_.Check(device_.api().EventSynchronize(ended_[static_cast<size_t>(round)]),
                  "cuEventSynchronize");
    progress(round + 1);
  };
  for (int round = 0; round < shape_.rounds; ++round) {
    if (round >= kRoundsAhead) wait(round - kRoundsAhead);
    for (size_t i = 0; i < weights_.size(); ++i) {
      SubmitLayer(i);
      SubmitSweep(i);
    }
    SubmitMeeting(round);
    device_.Check(
        device_.api().EventRecord(ended_[static_cast<size_t>(round)], device_.stream(kSweeps)),
        "cuEventRecord");
  }
  for (int round = std::max(0, shape_.rounds - kRoundsAhead); round < shape_.rounds; ++round) {
    wait(round);
  }
  device_.Check(device_.api().StreamSynchronize(device_.stream(kLayers)), "cuStreamSynchronize");
}

void Program::SubmitLayer(size_t layer) {
  const CUstream stream = device_.stream(kLayers);
  const Words& from = activations_[layer % 2];
  const Words& to = activations_[1 - layer % 2];
  Submit(stream, {read(weights_[layer]), read(from), write(to)}, [&] {
    uint32_t* weights = weights_[layer].data();
    uint32_t* in = from.data();
    uint32_t* out = to.data();
    size_t rows = kRowsOfWeights;
    size_t width = shape_.width();
    uint32_t work = shape_.work;
    device_.Launch(Device::kLayer, stream, width, {&weights, &rows, &in, &out, &width, &work});
  });
}

void Program::SubmitSweep(size_t block) {
  const CUstream stream = device_.stream(kSweeps);
  const Words& with = state_[(block + 1) % state_.size()];
  Submit(stream, {readwrite(state_[block]), read(with)}, [&] {
    uint32_t* data = state_[block].data();
    uint32_t* other = with.data();
    size_t count = shape_.words();
    uint32_t work = shape_.work;
    device_.Launch(block % 2 == 1 ? Device::kSweepFloats : Device::kSweepIntegers, stream, count,
                   {&data, &other, &count, &work});
  });
}

void Program::SubmitMeeting(int round) {
  const CUstream stream = device_.stream(kSweeps);
  device_.Order(device_.stream(kLayers), stream);
  // An even block: those hold integers, of which any pattern is a good one.
  const Words& block = state_[static_cast<size_t>(2 * round) % state_.size()];
  const Words& from = activations_[weights_.size() % 2];
  Submit(stream, {readwrite(block), read(from)}, [&] {
    uint32_t* data = block.data();
    uint32_t* activation = from.data();
    size_t count = shape_.words();
    size_t width = shape_.width();
    device_.Launch(Device::kInject, stream, count, {&data, &count, &activation, &width});
  });
  SubmitCopies(round);
  // The next round's layers write what was read here.
  device_.Order(stream, device_.stream(kLayers));
}

void Program::SubmitCopies(int round) {
  const CUstream stream = device_.stream(kSweeps);
  const size_t from = static_cast<size_t>(4 * round) % state_.size();
  const size_t to = (from + state_.size() / 4 * 2) % state_.size();
  const size_t piece = std::min(kPieceWords, shape_.words() / 2);
  const size_t first = shape_.words() - piece;  // Behind any chunk border there is.
  const std::span<uint32_t> host(static_cast<uint32_t*>(host_), piece);
  // In stream order: each copy has ended before the next uses the host piece.
  Download(stream, host, state_[from], first);
  Upload<uint32_t>(stream, state_[to], host);
}

Digest Program::Finish() {
  const CUstream stream = device_.stream(kSweeps);
  Digest digest(sums_.size());
  std::fill(digest.begin(), digest.end(), 0);
  Upload<unsigned long long>(stream, sums_, digest);
  unsigned long long* sums = sums_.data();
  for (const Region& region : memory()) {
    Submit(stream, {read(region), readwrite(sums_)}, [&] {
      CUdeviceptr data = region.ptr;
      size_t count = region.bytes / sizeof(uint32_t);
      device_.Launch(Device::kDigest, stream, count, {&data, &count, &sums});
    });
    sums += 2;
  }
  Download<unsigned long long>(stream, digest, sums_, 0);
  device_.Check(device_.api().StreamSynchronize(stream), "cuStreamSynchronize");
  return digest;
}

std::vector<Region> Program::memory() const {
  std::vector<Region> regions;
  for (const std::vector<Words>* group : {&weights_, &state_, &activations_}) {
    regions.insert(regions.end(), group->begin(), group->end());
  }
  return regions;
}

}  // namespace vramspan::demo
