// The one line that the stub ever writes.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STUB_SAY_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STUB_SAY_H_

namespace vramspan::stub {

// Remembers what stderr is. A program may use the number for something else later.
void RememberStderr();

// On stderr: that the program runs as without vramspan, and why. Not with VRAMSPAN_LOG=off, nor
// where stderr is another file than it was. No signal comes of it.
void SayAsWithout(const char* why);

}  // namespace vramspan::stub

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STUB_SAY_H_
