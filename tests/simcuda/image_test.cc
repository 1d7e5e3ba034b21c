// Images as hostile input: whatever is passed, the answer is an error and nothing is touched.

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"
#include "tools/simcuda/modules/elf_image.h"

namespace simcuda {
namespace {

class ImageTest : public SimTest {
 protected:
  static std::vector<char> HostImage() {
    const KernelImages images = test_kernels_images();
    const char* bytes = static_cast<const char*>(images.host);
    return {bytes, bytes + images.host_size};
  }

  static CUresult Load(const void* image) {
    CUmodule module = nullptr;
    const CUresult result = cuModuleLoadData(&module, image);
    return result == CUDA_SUCCESS ? cuModuleUnload(module) : result;
  }

  static CUresult LoadBytes(std::vector<char> bytes) { return Load(bytes.data()); }
};

// Bytes that end where memory ends.
class AtTheEdge {
 public:
  explicit AtTheEdge(size_t capacity) : pages_((capacity + kPage - 1) / kPage * kPage) {
    base_ = static_cast<char*>(
        mmap(nullptr, pages_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(base_ + pages_, kPage, PROT_NONE), 0);
  }
  ~AtTheEdge() { munmap(base_, pages_ + kPage); }
  const void* Put(const char* bytes, size_t size) {
    return memcpy(base_ + pages_ - size, bytes, size);
  }

 private:
  static constexpr size_t kPage = 4096;
  const size_t pages_;
  char* base_ = nullptr;
};

TEST_F(ImageTest, GpuImagesAreForAnotherDriver) {
  const uint32_t fatbin[32] = {0xBA55ED50, 0x00100001};
  const uint32_t wrapper[32] = {0x466243B1, 1};
  EXPECT_EQ(Load(fatbin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(Load(wrapper), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const char ptx[128] = ".version 8.0\n.target sm_80\n";
  EXPECT_EQ(Load(ptx), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  std::vector<char> cubin = HostImage();
  reinterpret_cast<Elf64_Ehdr*>(cubin.data())->e_machine = 190;
  EXPECT_EQ(LoadBytes(cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  if (test_kernels_images().fatbin != nullptr) {
    EXPECT_EQ(Load(test_kernels_images().fatbin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  }
}

TEST_F(ImageTest, TheLoaderTakesTheImageThatFits) {
  std::vector<const void*> tried;
  const char gpu[1] = {};
  const char host[1] = {};
  CUmodule module = nullptr;
  auto answer = [&](CUresult to_gpu, CUresult to_host) {
    tried.clear();
    return LoadKernels(
        {gpu, 1, host, 1},
        [&](CUmodule*, const void* image) {
          tried.push_back(image);
          return image == gpu ? to_gpu : to_host;
        },
        &module);
  };
  EXPECT_EQ(answer(CUDA_SUCCESS, CUDA_SUCCESS), CUDA_SUCCESS);
  EXPECT_EQ(tried, std::vector<const void*>({gpu}));
  EXPECT_EQ(answer(CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_SUCCESS), CUDA_SUCCESS);
  EXPECT_EQ(tried, std::vector<const void*>({gpu, host}));
  EXPECT_EQ(answer(CUDA_ERROR_OUT_OF_MEMORY, CUDA_SUCCESS), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(tried, std::vector<const void*>({gpu}));
  EXPECT_EQ(answer(CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(ImageTest, NothingAndNonsense) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(nullptr, test_kernels_images().host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LoadBytes(std::vector<char>(4096, 0)), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(LoadBytes(std::vector<char>(4096, '\x7f')), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(Load(reinterpret_cast<const void*>(uintptr_t{64})), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(module, nullptr);
}

TEST_F(ImageTest, CutOffAnywhere) {
  const std::vector<char> image = HostImage();
  size_t needed = 0;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image.data() + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) needed = segments[i].p_offset + segments[i].p_filesz;
  }
  AtTheEdge edge(image.size());
  EXPECT_EQ(Load(edge.Put(image.data(), needed)), CUDA_SUCCESS);
  for (size_t size = needed - 1; size > 0; size -= 1 + size / 7) {
    EXPECT_EQ(Load(edge.Put(image.data(), size)), CUDA_ERROR_INVALID_IMAGE) << size;
  }
}

// Every byte of the headers, each in three ways: what is accepted must load and unload.
TEST_F(ImageTest, DamagedHeaders) {
  const std::vector<char> image = HostImage();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  size_t refused = 0;
  for (size_t at = 0; at < header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr); ++at) {
    for (const char value : {'\0', '\xff', static_cast<char>(image[at] ^ 0x10)}) {
      std::vector<char> damaged = image;
      damaged[at] = value;
      if (LoadBytes(damaged) != CUDA_SUCCESS) ++refused;
    }
  }
  EXPECT_GT(refused, header->e_phnum * sizeof(Elf64_Phdr) / 4);
}

// The same for what the dynamic linker follows. It is not loaded where it is accepted: which
// function of the image runs first is for the image to say.
TEST_F(ImageTest, DamagedTables) {
  const std::vector<char> image = HostImage();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image.data() + header->e_phoff);
  std::vector<std::pair<size_t, size_t>> regions = {{0, segments[0].p_filesz}};
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_DYNAMIC || segments[i].p_type == PT_NOTE) {
      regions.emplace_back(segments[i].p_offset, segments[i].p_filesz);
    }
  }
  size_t refused = 0;
  for (const auto& [start, size] : regions) {
    // Every byte of the small ones; a sample of what a sanitizer makes large.
    for (size_t at = start; at < start + size; at += 1 + size / 2048) {
      for (const char value : {'\0', '\xff', static_cast<char>(image[at] ^ 0x10)}) {
        std::vector<char> damaged = image;
        damaged[at] = value;
        if (ValidateImage(damaged.data(), damaged.size()) == CUDA_SUCCESS) continue;
        ++refused;
        EXPECT_NE(LoadBytes(std::move(damaged)), CUDA_SUCCESS) << at;
      }
    }
  }
  EXPECT_GT(refused, 500u);
}

TEST_F(ImageTest, OffsetsThatOverflow) {
  const std::vector<char> image = HostImage();
  for (const uint64_t value : {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{1} << 40}) {
    for (const size_t field : {offsetof(Elf64_Phdr, p_offset), offsetof(Elf64_Phdr, p_filesz),
                               offsetof(Elf64_Phdr, p_memsz), offsetof(Elf64_Phdr, p_vaddr)}) {
      for (int segment = 0; segment < 4; ++segment) {
        std::vector<char> damaged = image;
        const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
        memcpy(damaged.data() + header->e_phoff + segment * sizeof(Elf64_Phdr) + field, &value,
               sizeof(value));
        EXPECT_EQ(LoadBytes(damaged), CUDA_ERROR_INVALID_IMAGE) << segment << " " << field;
      }
    }
  }
}

// A shared object that is no kernel image is refused before any of its code runs.
TEST_F(ImageTest, ForeignSharedObjects) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoad(&module, SIMCUDA_TEST_FOREIGN_LIBRARY), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(getenv("SIMCUDA_TEST_FOREIGN_CODE_RAN"), nullptr);
}

TEST_F(ImageTest, Files) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere/at/all.so"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoad(&module, "/tmp"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoad(&module, "/etc/passwd"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  const std::string path = ::testing::TempDir() + "simcuda_image_" + std::to_string(getpid());
  const std::vector<char> image = HostImage();
  FILE* file = fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  fwrite(image.data(), 1, image.size(), file);
  fclose(file);
  SIM_OK(cuModuleLoad(&module, path.c_str()));
  SIM_EXPECT_OK(cuModuleUnload(module));
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(image.size() / 3)), 0);
  EXPECT_EQ(cuModuleLoad(&module, path.c_str()), CUDA_ERROR_INVALID_IMAGE);
  unlink(path.c_str());
}

}  // namespace
}  // namespace simcuda
