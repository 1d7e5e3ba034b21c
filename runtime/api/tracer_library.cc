#include "runtime/api/tracer_library.h"

#include <absl/strings/str_cat.h>
#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace vramspan::tracer_library {
namespace {

constexpr const char* kTracerLibrary = "libvramspan_cupti_tracer.so";

// The folder of the file that this code is in.
std::string OwnFolder() {
  Dl_info own{}, program{};
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &own) == 0 || own.dli_fname == nullptr) {
    return {};
  }
  std::string path = own.dli_fname;
  // Of the program itself the loader knows only what it was called.
  const auto headers = reinterpret_cast<void*>(getauxval(AT_PHDR));
  if (dladdr(headers, &program) != 0 && program.dli_fbase == own.dli_fbase) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) path = file.string();
  }
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// A function of the tracer's library, which stays open.
StatusOr<void*> OpenFunction(const char* name) {
  std::vector<std::string> paths;
  if (const char* path = std::getenv("VRAMSPAN_CUPTI_TRACER"); path != nullptr && *path != '\0') {
    paths = {path};
  } else {
    const std::string own = OwnFolder();
    // Beside a shared libvramspan, beside the library folder of a program that carries us, else
    // wherever the loader looks.
    paths = {own + kTracerLibrary, own + "../lib/" + kTracerLibrary, kTracerLibrary};
  }
  std::string errors;
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* error = dlerror();
      absl::StrAppend(&errors, errors.empty() ? "" : "; ", error != nullptr ? error : path);
      continue;
    }
    if (void* function = dlsym(library, name); function != nullptr) return function;
    absl::StrAppend(&errors, errors.empty() ? "" : "; ", path,
                    " is not a launch tracer, or an old one");
  }
  return absl::UnavailableError(absl::StrCat("the launch tracer cannot be opened (", errors,
                                             "); set VRAMSPAN_CUPTI_TRACER to the path of ",
                                             kTracerLibrary));
}

}  // namespace

StatusOr<vramspanLaunchSourceStart_t> LaunchSourceStart() {
  VS_ASSIGN_OR_RETURN(void* const start, OpenFunction(VRAMSPAN_LAUNCH_SOURCE_START));
  return reinterpret_cast<vramspanLaunchSourceStart_t>(start);
}

StatusOr<vramspanLaunchSourceStop_t> LaunchSourceStop() {
  VS_ASSIGN_OR_RETURN(void* const stop, OpenFunction(VRAMSPAN_LAUNCH_SOURCE_STOP));
  return reinterpret_cast<vramspanLaunchSourceStop_t>(stop);
}

StatusOr<const vramspanCountersTable*> Counters() {
  VS_ASSIGN_OR_RETURN(void* const get, OpenFunction(VRAMSPAN_COUNTERS_GET));
  const vramspanCountersTable* table = reinterpret_cast<vramspanCountersGet_t>(get)();
  if (table->version == VRAMSPAN_COUNTERS_VERSION) return table;
  return absl::UnavailableError(
      "the launch tracer and the runtime are of different versions; install them together");
}

std::string CuptiBeside(const Driver& driver) {
  const size_t slash = driver.path().rfind('/');
  return slash == std::string::npos ? std::string()
                                    : driver.path().substr(0, slash + 1) + "libcupti.so.13";
}

}  // namespace vramspan::tracer_library
