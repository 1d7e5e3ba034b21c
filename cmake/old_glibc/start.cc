// Where a program starts. The crt1.o of glibc 2.34 and later leaves constructors to the C library.
// Before that they were the program's own, and the C library called what it was given for them.
extern "C" {

using Main = int(int, char**, char**);
using Function = void();
using Init = void(int, char**, char**);

extern Init* __init_array_start[] __attribute__((visibility("hidden")));
extern Init* __init_array_end[] __attribute__((visibility("hidden")));
void _init();

#if defined(__x86_64__)
__asm__(".symver vramspan_start_main, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver vramspan_start_main, __libc_start_main@GLIBC_2.17");
#endif
int vramspan_start_main(Main* main, int argc, char** argv, Init* init, Function* fini,
                        Function* loader_fini, void* stack_end);

static void RunConstructors(int argc, char** argv, char** environment) {
  _init();
  for (Init** init = __init_array_start; init != __init_array_end; ++init) {
    (*init)(argc, argv, environment);
  }
}

__attribute__((visibility("hidden"))) int __libc_start_main(Main* main, int argc, char** argv,
                                                            Init* init, Function* fini,
                                                            Function* loader_fini,
                                                            void* stack_end) {
  return vramspan_start_main(main, argc, argv, init != nullptr ? init : &RunConstructors, fini,
                             loader_fini, stack_end);
}

}  // extern "C"
