// A tool as profilers are: NVTX loads it by NVTX_INJECTION64_PATH. Of each range of the domain
// `vramspan` it writes a line when it begins, and one when it ends, to the file that NVTX_TOOL_FILE
// names.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

int file = -1;
nvtxDomainHandle_t own = nullptr;
std::atomic<nvtxRangeId_t> last{0};

void Write(nvtxDomainHandle_t domain, const std::string& line) {
  // One call a line, as several threads write.
  if (domain == own && write(file, (line + "\n").data(), line.size() + 1) < 0) abort();
}

nvtxDomainHandle_t Create(const char* name) {
  // The handle of a domain is the tool's to choose.
  auto* const domain = reinterpret_cast<nvtxDomainHandle_t>(new char);
  if (std::string(name) == "vramspan") own = domain;
  return domain;
}

nvtxRangeId_t Start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* what) {
  Write(domain, std::string("start ") + what->message.ascii);
  return ++last;
}

void End(nvtxDomainHandle_t domain, nvtxRangeId_t /*range*/) { Write(domain, "end"); }

int Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* what) {
  Write(domain, std::string("push ") + what->message.ascii);
  return 0;
}

int Pop(nvtxDomainHandle_t domain) {
  Write(domain, "pop");
  return 0;
}

}  // namespace

// NVTX calls it when something is first shown. 1: it may be called from here on.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t tables) {
  const auto* const calls =
      static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr;
  unsigned int size = 0;
  if (calls == nullptr || !calls->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core, &size)) {
    return 0;
  }
  const char* const path = getenv("NVTX_TOOL_FILE");
  if (path == nullptr) return 0;
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  const auto answer = [core](NvtxCallbackIdCore2 call, auto* with) {
    *core[call] = reinterpret_cast<NvtxFunctionPointer>(with);
  };
  answer(NVTX_CBID_CORE2_DomainCreateA, &Create);
  answer(NVTX_CBID_CORE2_DomainRangeStartEx, &Start);
  answer(NVTX_CBID_CORE2_DomainRangeEnd, &End);
  answer(NVTX_CBID_CORE2_DomainRangePushEx, &Push);
  answer(NVTX_CBID_CORE2_DomainRangePop, &Pop);
  return 1;
}
