// The functions that the rows of hooks.inc name.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_HOOKS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_HOOKS_H_

#include "runtime/preload/allocation.h"
#include "runtime/preload/captures.h"
#include "runtime/preload/context.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/graphs.h"
#include "runtime/preload/images.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/peers.h"
#include "runtime/preload/pools.h"
#include "runtime/preload/process.h"
#include "runtime/preload/queries.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/sharing.h"
#include "runtime/preload/sync_memops.h"
#include "runtime/preload/vmm.h"

#endif  // VRAMSPAN_RUNTIME_PRELOAD_HOOKS_H_
