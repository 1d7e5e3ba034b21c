#include "tools/replay/synthetic.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"

namespace vramspan::replay {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr uint64_t kMostWorks = 20'000'000;
constexpr uint64_t kMibOfMicrosecond = 2;  // Of a device's memory.

struct Key {
  std::string_view name;
  uint64_t value, least, most;
};
using Keys = std::vector<Key>;

Keys LoopKeys() {
  return {{"layers", 24, 1, 100'000},  {"passes", 20, 1, 1'000'000}, {"mib", 64, 1, 1 << 20},
          {"us", 3000, 1, 60'000'000}, {"lead", 5, 0, 60'000'000},   {"written", 1, 0, 1}};
}

Keys RandomKeys() {
  return {{"seed", 1, 0, UINT64_MAX},     {"allocations", 32, 1, 100'000},
          {"works", 2000, 1, kMostWorks}, {"mib", 32, 2, 1 << 20},
          {"us", 500, 1, 60'000'000},     {"streams", 1, 1, 64},
          {"lead", 5, 0, 60'000'000},     {"written", 1, 0, 1}};
}

Keys TrainingKeys() {
  return {{"layers", 24, 1, 10'000},  {"passes", 10, 1, 100'000},  {"mib", 160, 1, 1 << 20},
          {"kept", 240, 1, 1 << 20},  {"us", 1200, 1, 60'000'000}, {"group", 4, 1, 10'000},
          {"lead", 5, 0, 60'000'000}, {"written", 1, 0, 1},        {"lifetimes", 0, 0, 1}};
}

Keys ChoiceKeys() {
  return {{"seed", 1, 0, UINT64_MAX}, {"models", 2, 1, 100},        {"layers", 24, 1, 10'000},
          {"turns", 20, 1, 10'000},   {"requests", 40, 1, 100'000}, {"mib", 64, 1, 1 << 20},
          {"us", 100, 1, 60'000'000}, {"lead", 5, 0, 60'000'000},   {"written", 0, 0, 1}};
}

uint64_t Of(const Keys& keys, std::string_view name) {
  const auto key =
      std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
  VS_CHECK(key != keys.end());
  return key->value;
}

Status Fill(std::string_view text, std::string_view spec, Keys* keys) {
  const auto refuse = [&](std::string_view why) {
    std::vector<std::string> allowed;
    for (const Key& k : *keys) {
      allowed.push_back(absl::StrCat(k.name, "=", k.least, " to ", k.most));
    }
    return absl::InvalidArgumentError(absl::StrCat("'", Repeated(text), "' in '", Repeated(spec),
                                                   "' ", why, "; use ",
                                                   absl::StrJoin(allowed, ", ")));
  };
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const auto key =
      std::find_if(keys->begin(), keys->end(), [&](const Key& k) { return k.name == parts.first; });
  if (key == keys->end()) return refuse("is not a key");
  uint64_t value = 0;
  if (!absl::SimpleAtoi(parts.second, &value) || value < key->least || value > key->most) {
    return refuse("cannot have that value");
  }
  key->value = value;
  return absl::OkStatus();
}

// A program that submits work `lead` apart, and a device that does it stream by stream.
class Writer {
 public:
  explicit Writer(const Keys& keys)
      : lead_(Of(keys, "lead") * 1000), written_(Of(keys, "written") != 0) {
    run_.setting.source = "synthetic";
  }

  uint32_t Allocate(Bytes size, std::string name) {
    const auto index = static_cast<uint32_t>(run_.allocations.size());
    run_.allocations.push_back(
        {.base = next_, .size = size, .allocated = now_, .name = std::move(name)});
    next_ = next_ + RoundUp(size, MiB(64));
    run_.steps.push_back({RecordedStep::Kind::kAllocate, index});
    return index;
  }
  // The program waits for all that runs, as cudaFree does.
  void Free(uint32_t allocation) {
    for (const uint64_t end : ends_) now_ = std::max(now_, end);
    run_.allocations[allocation].freed = now_;
    run_.steps.push_back({RecordedStep::Kind::kFree, allocation});
  }
  // What is in it is not wanted any more.
  void Discard(uint32_t allocation) {
    run_.discards.push_back({.time = now_,
                             .allocation = allocation,
                             .size = run_.allocations[allocation].size.value,
                             .step = static_cast<uint32_t>(run_.steps.size()),
                             .kind = RecordedDiscard::Kind::kUnowned});
  }
  void Work(const std::string& name, const std::vector<uint32_t>& touched, uint64_t us,
            uint32_t stream) {
    const auto [code, made] = codes_.try_emplace(name, static_cast<uint32_t>(run_.codes.size()));
    if (made) run_.codes.push_back({name, 0});
    std::vector<RecordedRange> ranges;
    for (const uint32_t a : touched) {
      ranges.push_back({.allocation = a,
                        .size = run_.allocations[a].size.value,
                        .slot = static_cast<uint16_t>(ranges.size()),
                        .write = written_});
    }
    if (stream >= ends_.size()) ends_.resize(stream + 1);
    RecordedWork work;
    work.submitted = now_;
    work.start = std::max(now_, ends_[stream]);
    work.end = ends_[stream] = work.start + us * 1000;
    work.stream = stream;
    work.code = code->second;
    work.set = run_.AddSet(ranges);
    run_.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(run_.works.size())});
    run_.works.push_back(work);
    now_ += lead_;
  }
  RecordedRun Take(std::string_view spec) {
    run_.setting.program = std::string(spec);
    return std::move(run_);
  }

 private:
  const uint64_t lead_;
  const bool written_;
  RecordedRun run_;
  DevicePtr next_{uint64_t{1} << 40};
  uint64_t now_ = 0;
  std::vector<uint64_t> ends_;  // By stream.
  absl::flat_hash_map<std::string, uint32_t> codes_;
};

Status TooMany(std::string_view spec, uint64_t works) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(spec), "' has ", works, " works; use at most ", kMostWorks));
}

StatusOr<RecordedRun> Loop(std::string_view spec, const Keys& keys, bool sweep) {
  const uint64_t layers = Of(keys, "layers"), passes = Of(keys, "passes");
  if (layers * passes > kMostWorks) return TooMany(spec, layers * passes);
  Writer writer(keys);
  for (uint64_t i = 0; i < layers; ++i) {
    writer.Allocate(MiB(Of(keys, "mib")), absl::StrCat("layer ", i));
  }
  for (uint64_t pass = 0; pass < passes; ++pass) {
    for (uint64_t i = 0; i < layers; ++i) {
      const auto layer = static_cast<uint32_t>(sweep && pass % 2 == 1 ? layers - 1 - i : i);
      const char* name = sweep && pass % 2 == 1 ? "backward" : "forward";
      writer.Work(name, {layer}, Of(keys, "us"), 0);
    }
  }
  return writer.Take(spec);
}

StatusOr<RecordedRun> Training(std::string_view spec, const Keys& keys) {
  const uint64_t layers = Of(keys, "layers"), passes = Of(keys, "passes");
  if (layers * passes * 3 > kMostWorks) return TooMany(spec, layers * passes * 3);
  Writer writer(keys);
  const auto each = [&](const char* what, uint64_t mib) {
    std::vector<uint32_t> all;
    for (uint64_t i = 0; i < layers; ++i) {
      all.push_back(writer.Allocate(MiB(mib), absl::StrCat(what, " ", i)));
    }
    return all;
  };
  const uint64_t mib = Of(keys, "mib"), us = Of(keys, "us"), group = Of(keys, "group");
  const bool lifetimes = Of(keys, "lifetimes") != 0;
  const std::vector<uint32_t> weights = each("weights", mib), gradients = each("gradients", mib),
                              means = each("means", mib), variances = each("variances", mib),
                              kept = each("activations", Of(keys, "kept"));
  for (uint64_t pass = 0; pass < passes; ++pass) {
    for (uint64_t i = 0; i < layers; ++i) writer.Work("forward", {weights[i], kept[i]}, us, 0);
    for (uint64_t i = layers; i-- > 0;) {
      writer.Work("backward", {weights[i], kept[i], gradients[i]}, 2 * us, 0);
      if (lifetimes) writer.Discard(kept[i]);
    }
    for (uint64_t first = 0; first < layers; first += group) {
      std::vector<uint32_t> named;
      for (uint64_t i = first; i < std::min(first + group, layers); ++i) {
        named.insert(named.end(), {weights[i], gradients[i], means[i], variances[i]});
      }
      // Read once, and three of four written.
      writer.Work("optimiser", named, named.size() * mib * 7 / 4 / kMibOfMicrosecond + 1, 0);
      for (uint64_t i = first; lifetimes && i < std::min(first + group, layers); ++i) {
        writer.Discard(gradients[i]);
      }
    }
  }
  return writer.Take(spec);
}

// Each request goes to one of several models, by no rule, and passes its layers some turns.
StatusOr<RecordedRun> Choice(std::string_view spec, const Keys& keys) {
  const uint64_t models = Of(keys, "models"), layers = Of(keys, "layers");
  const uint64_t turns = Of(keys, "turns"), requests = Of(keys, "requests");
  if (layers * turns * requests > kMostWorks) return TooMany(spec, layers * turns * requests);
  std::mt19937_64 random(Of(keys, "seed"));
  Writer writer(keys);
  for (uint64_t i = 0; i < models * layers; ++i) {
    writer.Allocate(MiB(Of(keys, "mib")),
                    absl::StrCat("model ", i / layers, " layer ", i % layers));
  }
  for (uint64_t request = 0; request < requests; ++request) {
    const uint64_t model = random() % models;
    for (uint64_t turn = 0; turn < turns; ++turn) {
      for (uint64_t i = 0; i < layers; ++i) {
        writer.Work("layer", {static_cast<uint32_t>(model * layers + i)}, Of(keys, "us"), 0);
      }
    }
  }
  return writer.Take(spec);
}

RecordedRun Random(std::string_view spec, const Keys& keys) {
  std::mt19937_64 random(Of(keys, "seed"));
  const auto below = [&](uint64_t n) { return random() % n; };
  Writer writer(keys);
  std::vector<uint32_t> live;
  uint64_t allocated = 0;
  const auto allocate = [&] {
    live.push_back(
        writer.Allocate(MiB(2 + below(Of(keys, "mib") - 1)), absl::StrCat("buffer ", allocated++)));
  };
  while (live.size() < Of(keys, "allocations")) allocate();
  for (uint64_t w = 0; w < Of(keys, "works"); ++w) {
    if (below(50) == 0) {
      const uint64_t goes = below(live.size());
      writer.Free(live[goes]);
      live[goes] = live.back();
      live.pop_back();
      allocate();
    }
    std::vector<uint32_t> touched;
    for (uint64_t i = below(3) + 1; i > 0; --i) {
      // Some are hotter than others.
      touched.push_back(live[std::min(below(live.size()), below(live.size()))]);
    }
    writer.Work(absl::StrCat("kernel ", below(8)), touched, 1 + below(2 * Of(keys, "us")),
                static_cast<uint32_t>(below(Of(keys, "streams"))));
  }
  return writer.Take(spec);
}

}  // namespace

bool IsSynthetic(std::string_view spec) { return spec.starts_with(kPrefix); }

StatusOr<RecordedRun> SyntheticRun(std::string_view spec) {
  std::vector<std::string_view> words = absl::StrSplit(spec.substr(kPrefix.size()), ',');
  const std::string_view kind = words.front();
  if (kind != "loop" && kind != "sweep" && kind != "random" && kind != "training" &&
      kind != "choice") {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Repeated(spec),
                     "' is not a synthetic run; use synthetic:loop, synthetic:sweep, "
                     "synthetic:random, synthetic:training or synthetic:choice"));
  }
  Keys keys = kind == "random"     ? RandomKeys()
              : kind == "training" ? TrainingKeys()
              : kind == "choice"   ? ChoiceKeys()
                                   : LoopKeys();
  for (size_t i = 1; i < words.size(); ++i) {
    VS_RETURN_IF_ERROR(Fill(words[i], spec, &keys));
  }
  if (kind == "random") return Random(spec, keys);
  if (kind == "training") return Training(spec, keys);
  if (kind == "choice") return Choice(spec, keys);
  return Loop(spec, keys, kind == "sweep");
}

}  // namespace vramspan::replay
