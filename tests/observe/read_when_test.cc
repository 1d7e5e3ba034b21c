// Code that is proven for launches whose parameters are so: by whatever way they are given, at
// once and in graphs, by files and by answers that come late.
#include <absl/strings/str_cat.h>

#include <cstring>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/readings.h"
#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using simcuda::KernelNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReadWhenTest : public DecoderTest {
 protected:
  void SetUp() override {
    DecoderTest::SetUp();
    const void* const image = observe_kernels_images().host;
    Defined(CALL(cuModuleLoadData), cuModuleLoadData_params{&observe_module_, image});
    module_ = HashOfImage(image);
    ASSERT_NE(module_, 0u);
    SIM_OK(cuGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    SIM_EXPECT_OK(cuGraphDestroy(graph_));
    DecoderTest::TearDown();
  }

  void Read(const char* kernel, const ParameterRanges& when) {
    ASSERT_TRUE(
        decoder_->codes()
            .trust()
            .Add("file", absl::StrCat("vramspan-trust 1\n", ReadLine(module_, kernel, {when})))
            .ok());
  }
  const KernelCode& Code(const char* kernel) { return decoder_->codes().Of(Observed(kernel)); }
  Trust Of(const char* kernel, void** parameters, void** extra = nullptr) {
    return Decode(CALL(cuLaunchKernel), Launch(Observed(kernel), parameters, extra)).trust;
  }
  // Of a launch of small_ones.
  Trust OfSmall(int a, int b, short c = 0, char d = 0) {
    void* parameters[] = {&a, &b, &c, &d};
    return Of("small_ones", parameters);
  }

  CUgraphNode AddSmall(int a, int b) {
    const KernelNode params(Observed("small_ones"), a, b, short{0}, char{0});
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, params.get()), CUDA_SUCCESS);
    return node;
  }
  CUgraphExec Instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 0), CUDA_SUCCESS);
    Defined(CALL(cuGraphInstantiateWithFlags),
            cuGraphInstantiateWithFlags_params{&exec, graph_, 0});
    return exec;
  }
  Submission OfGraph(CUgraphExec exec) {
    return Decode(CALL(cuGraphLaunch), cuGraphLaunch_params{exec, stream_});
  }
  void SetNode(CUgraphExec exec, CUgraphNode node, int a) {
    const KernelNode params(Observed("small_ones"), a, 0, short{0}, char{0});
    Defined(CALL(cuGraphExecKernelNodeSetParams_v2),
            cuGraphExecKernelNodeSetParams_v2_params{exec, node, params.get()});
  }

  uint64_t module_ = 0;
  CUgraph graph_ = nullptr;
};

TEST_F(ReadWhenTest, LaunchesWithinTheRangesAreProven) {
  Read("small_ones", {{0, 4, 2}, {4, 7, 9}});
  EXPECT_EQ(OfSmall(4, 7), Trust::kProven);
  EXPECT_EQ(OfSmall(2, 9), Trust::kProven);
  EXPECT_EQ(OfSmall(-1, 8), Trust::kProven);
  EXPECT_EQ(OfSmall(3, 8), Trust::kUntried);
  EXPECT_EQ(OfSmall(4, 6), Trust::kUntried);
  EXPECT_EQ(OfSmall(4, 10), Trust::kUntried);
  EXPECT_EQ(Code("small_ones").trust(), Trust::kUntried) << "whatever they are given";
  EXPECT_THAT(
      Code("small_ones").why(),
      testing::HasSubstr("when the word at byte 0 of its parameters is not 3 and the word at "
                         "byte 4 is 7 to 9: file"));
}

TEST_F(ReadWhenTest, BytesAndHalvesOfWordsAreLookedAtAlone) {
  Read("small_ones", {{8, 0xfffe, 0xfffe, 2}, {10, 0x80, 0x80, 1}});
  EXPECT_EQ(OfSmall(0, 0, -2, -128), Trust::kProven);
  EXPECT_EQ(OfSmall(0, 0, -2, 0), Trust::kUntried);
  EXPECT_EQ(OfSmall(0, 0, -1, -128), Trust::kUntried);
}

TEST_F(ReadWhenTest, AnyOfSeveralConditionsProves) {
  Read("small_ones", {{0, 1, 1}});
  Read("small_ones", {{4, 1, 1}});
  EXPECT_EQ(OfSmall(1, 0), Trust::kProven);
  EXPECT_EQ(OfSmall(0, 1), Trust::kProven);
  EXPECT_EQ(OfSmall(0, 0), Trust::kUntried);
}

TEST_F(ReadWhenTest, ALaunchThatFilesCallPlausibleIsSoOutsideTheRanges) {
  ASSERT_TRUE(decoder_->codes().trust().Add("x", "vramspan-trust 1\nname small*\n").ok());
  Read("small_ones", {{0, 1, 1}});
  EXPECT_EQ(OfSmall(1, 0), Trust::kProven);
  EXPECT_EQ(OfSmall(0, 0), Trust::kPlausible);
}

// Each of these would hold if what is not there was 0.
TEST_F(ReadWhenTest, WhatIsInNoParameterDoesNotHold) {
  // 4, 4, 2 and 1 bytes: from 8 on there is no whole word of one.
  Read("small_ones", {{8, 0, ~0u}});
  EXPECT_EQ(OfSmall(0, 0), Trust::kUntried) << "in two";
  // An int, four bytes that are nobody's, a struct of 24 bytes from 8, a pointer at 32.
  int first = 0;
  vramspan_test::Nested nested = {};
  void* last = nullptr;
  void* parameters[] = {&first, &nested, &last};
  const auto holds = [&](uint16_t at) {
    Layout layout;
    layout.places = {{0, 4}, {8, 24}, {32, 8}};
    return Parameters{.layout = &layout, .values = parameters}.Hold({{{at, 0, 0}}});
  };
  EXPECT_FALSE(holds(4)) << "between";
  EXPECT_FALSE(holds(40)) << "behind all";
  EXPECT_TRUE(holds(0) && holds(8) && holds(28) && holds(32) && holds(36));
  Read("nested", {{4, 0, ~0u}});
  EXPECT_EQ(Of("nested", parameters), Trust::kUntried);
  Read("nested", {{40, 0, ~0u}});
  EXPECT_EQ(Of("nested", parameters), Trust::kUntried);
  Read("eight", {{0, 0, ~0u}});
  EXPECT_EQ(Of("eight", nullptr), Trust::kUntried) << "it is given nothing";
  parameters[1] = nullptr;
  EXPECT_FALSE(holds(8)) << "missing";
}

TEST_F(ReadWhenTest, TheLastWordOfAParameterHolds) {
  Read("nested", {{36, 5, 5}});
  int first = 0;
  vramspan_test::Nested nested = {};
  void* last = reinterpret_cast<void*>(uint64_t{5} << 32);
  void* parameters[] = {&first, &nested, &last};
  EXPECT_EQ(Of("nested", parameters), Trust::kProven);
  last = nullptr;
  EXPECT_EQ(Of("nested", parameters), Trust::kUntried);
}

TEST_F(ReadWhenTest, ABufferIsReadUpToItsSize) {
  Read("small_ones", {{8, 7, 7}});
  int packed[] = {0, 0, 7};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  EXPECT_EQ(Of("small_ones", nullptr, extra), Trust::kProven);
  packed[2] = 8;
  EXPECT_EQ(Of("small_ones", nullptr, extra), Trust::kUntried);
  packed[2] = 7;
  size = sizeof(packed) - 1;
  EXPECT_EQ(Of("small_ones", nullptr, extra), Trust::kUntried);
  int a = 0, b = 0;
  void* parameters[] = {&a, &b, &a, &b};
  size = sizeof(packed);
  EXPECT_EQ(Of("small_ones", parameters, extra), Trust::kUntried) << "the driver refuses it";
}

TEST_F(ReadWhenTest, AnAnswerCountsFromTheNextLaunchOn) {
  EXPECT_EQ(OfSmall(1, 0), Trust::kUntried);
  Code("small_ones").ReadToHold({{{0, 1, 1}}});
  EXPECT_EQ(OfSmall(1, 0), Trust::kProven);
  EXPECT_EQ(OfSmall(2, 0), Trust::kUntried);
  EXPECT_THAT(Code("small_ones").why(),
              testing::StartsWith("read while the program runs, it takes no address from memory "
                                  "when the word at byte 0 of its parameters is 1; else "));
}

// What is remembered of launches (LaunchMemo) depends on the trust that they have before a scan.
TEST_F(ReadWhenTest, TheTrustIsKnownBeforeAScan) {
  Read("small_ones", {{0, 1, 1}});
  int a = 1, b = 0;
  short c = 0;
  char d = 0;
  void* parameters[] = {&a, &b, &c, &d};
  const auto launch = Launch(Observed("small_ones"), parameters);
  Submission submission;
  decoder_->Name(CALL(cuLaunchKernel), &launch, &submission);
  EXPECT_EQ(submission.trust, Trust::kProven);
}

TEST_F(ReadWhenTest, NodesOfAGraphCountEachForItself) {
  Read("small_ones", {{0, 1, 1}});
  AddSmall(1, 0);
  AddSmall(1, 5);
  EXPECT_EQ(OfGraph(Instantiate()).trust, Trust::kProven);
  AddSmall(2, 0);
  const Submission s = OfGraph(Instantiate());
  EXPECT_EQ(s.trust, Trust::kUntried) << "the three are of one code";
  EXPECT_THAT(s.unproven, ElementsAre(&Code("small_ones")));
}

TEST_F(ReadWhenTest, ANodeThatIsSetToTheOtherModeIsNotProven) {
  Read("small_ones", {{0, 1, 1}});
  const CUgraphNode node = AddSmall(1, 0);
  const CUgraphExec exec = Instantiate();
  EXPECT_EQ(OfGraph(exec).trust, Trust::kProven);
  SetNode(exec, node, 3);
  EXPECT_EQ(OfGraph(exec).trust, Trust::kUntried);
  SetNode(exec, node, 1);
  EXPECT_EQ(OfGraph(exec).trust, Trust::kProven);
}

TEST_F(ReadWhenTest, AGraphIsJudgedByAnswersThatComeLater) {
  const CUgraphNode node = AddSmall(1, 0);
  const CUgraphExec good = Instantiate();
  AddSmall(2, 0);
  const CUgraphExec bad = Instantiate();
  const CUgraphExec unseen = Instantiate();
  EXPECT_EQ(OfGraph(good).trust, Trust::kUntried);
  EXPECT_EQ(OfGraph(bad).trust, Trust::kUntried);
  EXPECT_EQ(OfGraph(good).unproven.size(), 1u);
  const size_t kept = KeptParameters::bytes();
  EXPECT_GT(kept, 0u);
  const KernelCode& code = Code("small_ones");
  code.reading.store(KernelCode::Reading::kAsked);
  EXPECT_EQ(OfGraph(good).trust, Trust::kUntried);
  code.ReadToHold({{{0, 1, 1}}});
  EXPECT_EQ(OfGraph(good).trust, Trust::kProven);
  EXPECT_THAT(OfGraph(good).unproven, IsEmpty());
  EXPECT_EQ(OfGraph(bad).trust, Trust::kUntried);
  EXPECT_EQ(OfGraph(unseen).trust, Trust::kUntried);
  EXPECT_EQ(KeptParameters::bytes(), 0u) << "what is decided needs none";
  SetNode(good, node, 2);
  EXPECT_EQ(OfGraph(good).trust, Trust::kUntried);
  SetNode(good, node, 1);
  EXPECT_EQ(OfGraph(good).trust, Trust::kProven);
}

TEST_F(ReadWhenTest, OtherAnswersAreJudgedAsEver) {
  AddSmall(1, 0);
  const CUgraphExec exec = Instantiate();
  EXPECT_EQ(OfGraph(exec).trust, Trust::kUntried);
  Code("small_ones").reading.store(KernelCode::Reading::kUnproven);
  EXPECT_EQ(OfGraph(exec).trust, Trust::kUntried);
  EXPECT_EQ(KeptParameters::bytes(), 0u);
  Instantiate();
  EXPECT_EQ(KeptParameters::bytes(), 0u) << "nothing is to come";
}

TEST_F(ReadWhenTest, WhatIsKeptOfNodesIsBounded) {
  const auto node = [](size_t bytes) {
    static const std::vector<char> buffer(1 << 15);
    return KeptParameters::Of({.buffer = absl::MakeConstSpan(buffer).first(bytes)});
  };
  EXPECT_EQ(node(0), nullptr);
  EXPECT_EQ(node(KeptParameters::kMost + 1), nullptr);
  std::vector<std::shared_ptr<const KeptParameters>> all;
  while (const auto one = node(KeptParameters::kMost)) all.push_back(one);
  EXPECT_GT(all.size(), 4000u);
  EXPECT_LE(KeptParameters::bytes(), KeptParameters::kMostOfAll);
  AddSmall(1, 0);
  all.push_back(node(16));
  while (const auto one = node(1)) all.push_back(one);
  const CUgraphExec exec = Instantiate();
  all.clear();
  EXPECT_EQ(KeptParameters::bytes(), 0u);
  Code("small_ones").ReadToHold({{{0, 1, 1}}});
  EXPECT_EQ(OfGraph(exec).trust, Trust::kUntried) << "there was no room to keep what it is given";
}

// What is kept has 0 where no parameter lies, and so it has for one that is missing.
TEST_F(ReadWhenTest, WhatIsKeptHoldsAsParametersDo) {
  int first = 1;
  vramspan_test::Nested nested = {};
  void* last = nullptr;
  void* parameters[] = {&first, &nested, &last};
  Layout layout;
  layout.places = {{0, 4}, {8, 24}, {32, 8}};
  const auto kept = KeptParameters::Of({.layout = &layout, .values = parameters});
  ASSERT_NE(kept, nullptr);
  EXPECT_TRUE(kept->Hold({{{0, 1, 1}, {36, 0, 0}}}));
  EXPECT_FALSE(kept->Hold({{{0, 1, 1}, {36, 1, 1}}}));
  EXPECT_FALSE(kept->Hold({{{4, 0, 0}}}));
  EXPECT_FALSE(kept->Hold({{{40, 0, ~0u}}}));
  parameters[1] = nullptr;
  EXPECT_EQ(KeptParameters::Of({.layout = &layout, .values = parameters}), nullptr);
}

}  // namespace
}  // namespace vramspan
