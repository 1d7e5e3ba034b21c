// The unwinder that is linked into this library makes its tables when it first unwinds by itself. A
// thread that the program cancels (pthread_cancel) is unwound by another copy, libgcc's shared one,
// which glibc loads. That one calls the handlers of our frames, and they abort without the tables.
#include <unwind.h>

namespace vramspan::preload {
namespace {

_Unwind_Reason_Code Stop(_Unwind_Context*, void*) { return _URC_END_OF_STACK; }

// Before any thread of the program's can be in a frame of ours.
__attribute__((constructor)) void MakeTables() { _Unwind_Backtrace(&Stop, nullptr); }

}  // namespace
}  // namespace vramspan::preload
