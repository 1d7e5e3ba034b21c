// The life of CUDA in this process, as far as hooks depend on it.
//
// Nothing is done before the program's own cuInit has succeeded, and nothing in a child of fork
// until its own has. CUDA does not survive a fork, and neither does what vramspan made before it: a
// child of a process that had allocated passes everything through for good.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// VRAMSPAN_OFF: this library is as good as not there.
bool Off();
// VRAMSPAN_QUIET: nothing is announced. What keeps vramspan from working is said all the same.
bool Quiet();

// cuInit has succeeded in this process, and hooks may do their work.
bool Ready();
// Something was made that a child of fork cannot use.
void NoteUsed();

// Hook.
CUresult Init(decltype(&::cuInit) real, unsigned flags);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_
