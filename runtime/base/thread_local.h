// Thread-local variables of the launch path. Code that is a shared library finds such a variable
// with a call of the loader's (__tls_get_addr): 18 % of what our hook added to a launch while
// memory sufficed, as perf counted on a build machine. This model finds it by an offset from the
// thread's register.
//
// The price: a library that is opened while the program runs takes its variables from a small space
// that the loader keeps (glibc: 1,664 bytes for all libraries). Few and small ones only.
#ifndef VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_
#define VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_

#define VS_HOT_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) constinit thread_local

#endif  // VRAMSPAN_RUNTIME_BASE_THREAD_LOCAL_H_
