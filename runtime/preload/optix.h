// OptiX: its work comes by calls inside the driver, so nobody sees it, and what it builds may not
// lie in host memory. So memory stays where it is once a program makes a context of OptiX, and what
// is allocated from then on is the driver's. Who only asks whether there is an OptiX loses nothing.
//
// libnvoptix.so.1 is the program's to load. It exports one function, which fills a table of others.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_OPTIX_H_
#define VRAMSPAN_RUNTIME_PRELOAD_OPTIX_H_

#include <string_view>

namespace vramspan::preload {

bool IsOptixHooked(std::string_view name);
// What to answer in place of that function, which is `real`. Threads: any.
void* OptixHook(void* real);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_OPTIX_H_
