// What tells that code is the very code that an audit has seen.
#include "runtime/observe/module_images.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/observe/image_hash.h"
#include "tests/observe/decoder_fixture.h"
#include "tests/observe/fat_binary.h"

namespace vramspan {
namespace {

TEST(ImageHashTest, EveryByteOfAFatBinaryCounts) {
  const std::string code(100'003, 'c');
  const uint64_t hash = HashOfImage(FatOf(code).data());
  EXPECT_NE(hash, 0u);
  EXPECT_EQ(HashOfImage(FatOf(code).data()), hash) << "wherever it lies";
  for (const size_t at : {size_t{0}, size_t{65'519}, size_t{65'520}, code.size() - 1}) {
    std::string other = code;
    other[at] = 'd';
    EXPECT_NE(HashOfImage(FatOf(other).data()), hash) << at;
  }
  EXPECT_NE(HashOfImage(FatOf(code + "c").data()), hash);
}

TEST(ImageHashTest, AWrapperIsAsWhatItWraps) {
  const std::string image = FatOf("code");
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data = nullptr;
    void* names = nullptr;
  } wrapper;
  EXPECT_EQ(HashOfImage(&wrapper), 0u);
  wrapper.data = image.data();
  EXPECT_EQ(HashOfImage(&wrapper), HashOfImage(image.data()));
}

TEST(ImageHashTest, TextEndsAtItsZero) {
  // The last byte that is mapped is the last of the text.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  const std::string text = "//\n.version 8.0\n.target sm_90\n";
  char* const at = pages + page - text.size() - 1;
  std::memcpy(at, text.c_str(), text.size() + 1);
  EXPECT_NE(HashOfImage(at), 0u);
  EXPECT_EQ(HashOfImage(at), HashOfImage(text.c_str()));
  pages[page - 1] = 'x';
  EXPECT_EQ(HashOfImage(at), 0u) << "it does not end";
  // Nor is what says that it is longer than its memory.
  const std::string fat = FatOf("code", 2 * page);
  std::memcpy(pages + page - fat.size(), fat.data(), fat.size());
  EXPECT_EQ(HashOfImage(pages + page - fat.size()), 0u);
  EXPECT_EQ(HashOfImage(FatOf("code", ~uint64_t{0}).data()), 0u);
  EXPECT_EQ(HashOfImage(pages + page), 0u);
  EXPECT_EQ(HashOfImage(nullptr), 0u);
  munmap(pages, 2 * page);
}

// On the simulated driver, whose images are ELF.
class ModuleImagesTest : public DecoderTest {
 protected:
  uint64_t HashOf(const void* kernel) {
    return ModuleImages::Get().HashOf(**Driver::Load(), kernel);
  }
  const void* image_ = observe_kernels_images().host;
};

TEST_F(ModuleImagesTest, AFunctionIsOfItsModule) {
  const CUfunction function = Observed("eight");
  EXPECT_EQ(HashOf(function), 0u) << "nobody told";
  Defined(CALL(cuModuleLoadData), cuModuleLoadData_params{&observe_module_, image_});
  EXPECT_EQ(HashOf(function), HashOfImage(image_));
  EXPECT_NE(HashOf(function), 0u);
  EXPECT_EQ(HashOf(nullptr), 0u);
  Defining(CALL(cuModuleUnload), cuModuleUnload_params{observe_module_});
  EXPECT_EQ(HashOf(function), 0u) << "its handle may be another's";
}

TEST_F(ModuleImagesTest, AModuleThatComesAgainIsOfItsNewImage) {
  const CUfunction function = Observed("eight");
  Defined(CALL(cuModuleLoadData), cuModuleLoadData_params{&observe_module_, image_});
  const std::string other = FatOf("other");
  Defined(CALL(cuModuleLoadFatBinary),
          cuModuleLoadFatBinary_params{&observe_module_, other.data()});
  EXPECT_EQ(HashOf(function), HashOfImage(other.data()));
  Defined(CALL(cuModuleLoad), cuModuleLoad_params{&observe_module_, "a file"});
  EXPECT_EQ(HashOf(function), 0u);
}

TEST_F(ModuleImagesTest, AKernelIsOfItsLibraryAndSoAreItsFunctions) {
  CUlibrary library = nullptr;
  SIM_OK(cuLibraryLoadData(&library, image_, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  SIM_OK(cuLibraryGetKernel(&kernel, library, "eight"));
  CUfunction function = nullptr;
  SIM_OK(cuKernelGetFunction(&function, kernel));
  CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
  std::string image = FatOf("first");
  const cuLibraryLoadData_params load{&library, image.data(), nullptr, nullptr,
                                      0,        &option,      nullptr, 1};
  Defined(CALL(cuLibraryLoadData), load);
  image.back() = 'x';
  EXPECT_EQ(HashOf(function), 0u) << "nobody told whose it is";
  Defined(CALL(cuKernelGetFunction), cuKernelGetFunction_params{&function, kernel});
  EXPECT_EQ(HashOf(function), HashOfImage(image.data())) << "only when it is asked for";
  EXPECT_EQ(HashOf(function), HashOf(kernel));
  Defining(CALL(cuLibraryUnload), cuLibraryUnload_params{library});
  EXPECT_EQ(HashOf(kernel), 0u);
  EXPECT_EQ(HashOf(function), 0u);
  SIM_OK(cuLibraryUnload(library));
}

// A graph that was captured of its launch names it.
TEST_F(ModuleImagesTest, AFunctionOfAKernelThatWasSeenIsOfItsLibrary) {
  CUlibrary library = nullptr;
  const cuLibraryLoadData_params load{&library, image_, nullptr, nullptr, 0, nullptr, nullptr, 0};
  SIM_OK(cuLibraryLoadData(&library, image_, nullptr, nullptr, 0, nullptr, nullptr, 0));
  Defined(CALL(cuLibraryLoadData), load);
  CUkernel kernel = nullptr;
  SIM_OK(cuLibraryGetKernel(&kernel, library, "eight"));
  CUfunction function = nullptr;
  SIM_OK(cuKernelGetFunction(&function, kernel));
  EXPECT_EQ(HashOf(function), 0u);
  EXPECT_EQ(HashOf(kernel), HashOfImage(image_));
  EXPECT_EQ(HashOf(function), HashOfImage(image_));
  ModuleImages::Get().DropFunctions();
  EXPECT_EQ(HashOf(function), 0u) << "its context may have ended";
  EXPECT_EQ(HashOf(kernel), HashOfImage(image_));
  EXPECT_EQ(HashOf(function), HashOfImage(image_));
  Defining(CALL(cuLibraryUnload), cuLibraryUnload_params{library});
  EXPECT_EQ(HashOf(function), 0u);
  SIM_OK(cuLibraryUnload(library));
}

TEST_F(ModuleImagesTest, WhatTheProgramHasInErrnoStays) {
  errno = 77;
  const auto nowhere = reinterpret_cast<const void*>(uintptr_t{64});
  Defined(CALL(cuModuleLoadData), cuModuleLoadData_params{&observe_module_, nowhere});
  EXPECT_EQ(errno, 77);
}

TEST_F(ModuleImagesTest, CodeIsTrustedByItsModule) {
  Defined(CALL(cuModuleLoadData), cuModuleLoadData_params{&observe_module_, image_});
  const AuditedKernel audited{9, 9, 0, HashOfImage(image_)};
  ASSERT_TRUE(decoder_->codes()
                  .trust()
                  .Add("test", "vramspan-trust 1\nname nested\n" + TrustLine("eight", audited))
                  .ok());
  const auto trust_of = [&](const char* name) {
    return decoder_->codes().Of(Observed(name)).trust();
  };
  EXPECT_EQ(trust_of("eight"), Trust::kProven);
  const CUfunction before = Observed("eight");
  Defining(CALL(cuModuleUnload), cuModuleUnload_params{observe_module_});
  EXPECT_EQ(decoder_->codes().Of(before).trust(), Trust::kPlausible) << "other code";
}

}  // namespace
}  // namespace vramspan
