// Before glibc 2.33 these were inline, over functions that glibc keeps. On both machines the
// structure of the headers is the kernel's, which is what the version asks for.
extern "C" {

#define VS_COMPAT __attribute__((visibility("hidden")))
#if defined(__x86_64__)
constexpr int kVersion = 1;
#else
constexpr int kVersion = 0;
#endif

int __xstat(int, const char*, void*);
int __lxstat(int, const char*, void*);
int __fxstat(int, int, void*);
int __fxstatat(int, int, const char*, void*, int);

VS_COMPAT int stat(const char* path, void* out) { return __xstat(kVersion, path, out); }
VS_COMPAT int lstat(const char* path, void* out) { return __lxstat(kVersion, path, out); }
VS_COMPAT int fstat(int fd, void* out) { return __fxstat(kVersion, fd, out); }
VS_COMPAT int fstat64(int fd, void* out) { return __fxstat(kVersion, fd, out); }
VS_COMPAT int fstatat(int folder, const char* path, void* out, int flags) {
  return __fxstatat(kVersion, folder, path, out, flags);
}

}  // extern "C"
