#include "tools/prove/prover.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "runtime/observe/image_hash.h"
#include "tests/prove/fake_nvdisasm.h"
#include "tests/prove/made_images.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/image_reading.h"
#include "tools/prove/image_state.h"
#include "tools/prove/kernel_names.h"

namespace vramspan::prove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Proves kernels unless their names say otherwise.
StatusOr<std::vector<KernelReading>> ReadNames(std::string_view cubin) {
  std::vector<KernelReading> readings;
  const std::vector<std::string> kernels = KernelsOfCubin(cubin).value();
  for (const std::string& name : kernels) {
    if (absl::StrContains(name, "unreadable")) return absl::FailedPreconditionError("too new");
    if (absl::StrContains(name, "unseen")) continue;
    const bool bad = absl::StrContains(name, "bad");
    readings.push_back({name, !bad, bad ? "LDG" : ""});
  }
  readings.push_back({"helper", false, "no kernel"});
  return readings;
}

class ProverTest : public testing::Test {
 protected:
  std::vector<FileVerdict> Run(const std::vector<std::string>& paths, unsigned threads = 2) {
    done_ = 0;
    const auto read = [this](std::string_view cubin) {
      {
        const std::lock_guard<std::mutex> lock(mu_);
        ++cubins_;
      }
      return ReadNames(cubin);
    };
    const auto progress = [this](size_t done, size_t all) {
      EXPECT_EQ(done, ++done_);
      all_ = all;
    };
    return Prove(paths, {read, progress}, threads, &errors_);
  }
  ImageVerdict Of(const std::string& image) {
    const auto verdicts = Run({folder_.File("file", image)});
    EXPECT_THAT(verdicts, SizeIs(1));
    EXPECT_THAT(verdicts[0].own, SizeIs(1));
    return verdicts[0].own[0];
  }
  static std::string Told(const ImageVerdict& image, const std::string& kernel) {
    const auto known = image.kernels.find(kernel);
    if (known == image.kernels.end()) return "nothing";
    const Verdict& verdict = known->second;
    return verdict.proven ? "proven" : absl::StrCat(verdict.gpu, ": ", verdict.why);
  }

  FolderOfPrograms folder_;
  std::vector<Status> errors_;
  std::mutex mu_;
  size_t cubins_ = 0, done_ = 0, all_ = 0;
};

TEST_F(ProverTest, AKernelIsProvenWhereAllItsCodeIs) {
  const std::string fat =
      MadeFat({{.sm = 80, .code = MadeCubin(80, {"f", "g", "bad"}), .flags = FatEntry::kZstd},
               {.sm = 90, .code = MadeCubin(90, {"f", "bad"})},
               {.kind = 1, .sm = 90, .code = ".entry f( .entry h("}});
  const ImageVerdict image = Of(fat);
  EXPECT_EQ(image.module, HashOfImage(fat.data()));
  EXPECT_THAT(image.kernels, SizeIs(4)) << "a function is none";
  EXPECT_EQ(Told(image, "f"), "proven");
  EXPECT_EQ(Told(image, "g"), "proven");
  EXPECT_EQ(Told(image, "bad"), "sm_80: LDG");
  EXPECT_EQ(Told(image, "h"), ": there is PTX of it alone");
  EXPECT_EQ(image.proven(), 2u);
  EXPECT_EQ(image.why, "");
  EXPECT_EQ(cubins_, 2u);
  EXPECT_EQ(all_, 3u);
}

// Of a kernel whose code for several GPUs was read to hold under these conditions, in both orders.
Verdict Joined(const std::vector<KernelReading>& readings) {
  Verdict verdicts[2];
  for (const int backwards : {0, 1}) {
    ImageState state(1);
    for (size_t i = 0; i < readings.size(); ++i) {
      const size_t at = backwards != 0 ? readings.size() - 1 - i : i;
      state.AddRead(absl::StrCat("sm_", 80 + at), {readings[at].name}, {readings[at]});
    }
    ImageVerdict image = std::move(state).Verdict();
    verdicts[backwards] = image.kernels.at(readings[0].name);
    EXPECT_EQ(image.proven(), verdicts[0].proven && verdicts[0].when.empty() ? 1u : 0u);
    EXPECT_EQ(image.on_condition(), verdicts[0].when.empty() ? 0u : 1u);
  }
  EXPECT_EQ(verdicts[0].proven, verdicts[1].proven);
  EXPECT_EQ(verdicts[0].when, verdicts[1].when);
  EXPECT_EQ(verdicts[0].why, verdicts[1].why);
  EXPECT_EQ(verdicts[0].gpu, verdicts[1].gpu);
  return verdicts[0];
}

TEST(ImageStateTest, TheConditionsOfAllCodeHoldTogether) {
  const KernelReading always = {"f", true, ""}, doubt = {"f", false, "LDG"},
                      mode = {"f", true, "", {{{28, 4, 2}}}},
                      both = {"f", true, "", {{{28, 4, 2}, {4, 0, 0}}}};
  EXPECT_TRUE(Joined({always, always}).when.empty());
  const Verdict joined = Joined({mode, both, always});
  EXPECT_TRUE(joined.proven);
  EXPECT_EQ(joined.when, (ParameterCases{{{4, 0, 0}, {28, 4, 2}}}));
  EXPECT_FALSE(Joined({mode, doubt, both}).proven);
  EXPECT_TRUE(Joined({mode, doubt}).when.empty());
  EXPECT_EQ(Joined({mode, doubt}).gpu, "sm_81");
}

TEST(ImageStateTest, MoreConditionsThanCanBeSaidProveNothing) {
  KernelReading one = {"f", true, ""}, other = one, last = one;
  one.when.emplace_back();
  for (uint16_t i = 0; i < 8; ++i) one.when[0].push_back({static_cast<uint16_t>(4 * i), 1, 1});
  other.when = {{{32, 1, 1}}};
  last.when = {{{0, 1, 1}}};
  EXPECT_TRUE(Joined({one, last}).proven);
  const Verdict verdict = Joined({one, other, last});
  EXPECT_FALSE(verdict.proven);
  EXPECT_TRUE(verdict.when.empty());
  EXPECT_EQ(verdict.why, "it depends on too much of its parameters");
}

// A name that comes twice in one cubin: what both say.
TEST(ImageStateTest, ReadingsOfOneNameHoldTogether) {
  ImageState state(1);
  state.AddRead("sm_90", {"f"}, {{"f", true, "", {{{28, 4, 2}}}}, {"f", true, ""}});
  const ImageVerdict image = std::move(state).Verdict();
  EXPECT_EQ(image.kernels.at("f").when.size(), 1u);
}

// As the reader beside a program asks.
TEST(ProveKernelsTest, CodeForOneGpuIsProvenOnConditionOfAllOfIt) {
  const std::string fat = MadeFat({{.sm = 80, .code = MadeCubin(80, {"f", "of80"})},
                                   {.sm = 86, .code = MadeCubin(86, {"f", "of86"})},
                                   {.sm = 90, .code = MadeCubin(90, {"f", "bad"})}});
  const std::vector<Image> images = FindImages(fat);
  ASSERT_THAT(images, SizeIs(1));
  const auto read =
      [](std::string_view cubin,
         const std::set<std::string>& kernels) -> StatusOr<std::vector<KernelReading>> {
    const std::vector<std::string> names = KernelsOfCubin(cubin).value();
    EXPECT_THAT(kernels, ElementsAre("f"));
    KernelReading f = {"f", !absl::StrContains(names.back() + names.front(), "bad"), "LDG"};
    if (f.proven) f.when = {{{28, 4, 2}}};
    if (f.proven && absl::StrContains(names.back() + names.front(), "of86")) f.when = {{{4, 0, 0}}};
    return std::vector<KernelReading>{f};
  };
  const auto when = [&](uint32_t gpu) {
    return ProveKernels(images[0], gpu, {"f"}, read).at("f").when;
  };
  EXPECT_EQ(when(80), (ParameterCases{{{28, 4, 2}}}));
  EXPECT_EQ(when(86), (ParameterCases{{{4, 0, 0}, {28, 4, 2}}}));
  EXPECT_FALSE(ProveKernels(images[0], 90, {"f"}, read).at("f").proven);
}

TEST_F(ProverTest, OneGpuWhoseCodeIsNotReadIsEnough) {
  const ImageVerdict image = Of(MadeFat({{.sm = 70, .code = MadeCubin(70, {"f", "unreadable"})},
                                         {.sm = 90, .code = MadeCubin(90, {"f", "g", "unseen"})}}));
  EXPECT_EQ(Told(image, "f"), "sm_70: too new");
  EXPECT_EQ(Told(image, "g"), "proven") << "that code does not hold it";
  EXPECT_EQ(Told(image, "unseen"), "sm_90: nvdisasm does not show it");
}

TEST_F(ProverTest, NothingIsProvenBesideCodeThatCannotBeKnown) {
  ImageVerdict image = Of(MadeFat({{.code = MadeCubin(90, {"f"})}, {.kind = 8, .code = "LTO"}}));
  EXPECT_THAT(image.why, HasSubstr("no machine code"));
  EXPECT_EQ(image.proven(), 0u);
  EXPECT_EQ(cubins_, 0u);
  image = Of(MadeFat({{.code = MadeCubin(90, {"f"})}, {.sm = 80, .code = "no cubin"}}));
  EXPECT_THAT(image.why, HasSubstr("sm_80: it is no cubin"));
  EXPECT_EQ(Told(image, "f"), ": sm_80: it is no cubin");
  std::string broken = MadeFat({{.code = MadeCubin(90, {"f"}), .flags = FatEntry::kZstd}});
  broken[80] ^= 1;
  image = Of(broken);
  EXPECT_EQ(image.why, "sm_90: its code cannot be unpacked");
  std::string relocatable = MadeCubin(90, {"f"});
  relocatable[16] = 1;
  EXPECT_EQ(Told(Of(relocatable), "f"), "sm_90: it is still to be linked, into another image");
}

TEST_F(ProverTest, AnImageIsReadOnceWhereverItIs) {
  const std::string f = MadeFat({{.code = MadeCubin(90, {"f"})}}), g = MadeCubin(80, {"g"});
  const auto verdicts = Run({folder_.File("a", f + g + f), folder_.path() + "/none",
                             folder_.File("b", "x" + g), folder_.File("c", "no image")});
  ASSERT_THAT(verdicts, SizeIs(3));
  EXPECT_EQ(verdicts[0].images, 3u);
  EXPECT_THAT(verdicts[0].own, SizeIs(2));
  EXPECT_EQ(verdicts[1].images, 1u);
  EXPECT_THAT(verdicts[1].own, IsEmpty());
  EXPECT_EQ(verdicts[2].images, 0u);
  EXPECT_EQ(cubins_, 2u);
  ASSERT_THAT(errors_, SizeIs(1));
  EXPECT_THAT(errors_[0].message(), HasSubstr("/none: No such file"));
}

TEST_F(ProverTest, AnyNumberOfThreadsSaysTheSame) {
  std::string file;
  for (int i = 0; i < 50; ++i) {
    file += MadeFat({{.sm = 80, .code = MadeCubin(80, {absl::StrCat("f", i), "bad"})},
                     {.sm = 90, .code = MadeCubin(90, {absl::StrCat("f", i), "bad", "g"})}});
  }
  const std::string path = folder_.File("many", file);
  std::vector<std::string> told;
  for (const unsigned threads : {1u, 2u, 8u}) {
    std::string text;
    const std::vector<FileVerdict> verdicts = Run({path}, threads);
    for (const ImageVerdict& image : verdicts[0].own) {
      for (const auto& [name, verdict] : image.kernels) {
        absl::StrAppend(&text, image.module, name, Told(image, name), "\n");
      }
    }
    told.push_back(text);
  }
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0], told[2]);
  EXPECT_EQ(std::count(told[0].begin(), told[0].end(), '\n'), 150);
}

}  // namespace
}  // namespace vramspan::prove
