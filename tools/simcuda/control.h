#ifndef VRAMSPAN_TOOLS_SIMCUDA_CONTROL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CONTROL_H_

/* How a test steers the simulated driver. Exported by libcuda.so.1 with C linkage; look the
 * functions up with dlsym, they are not there on a real driver. Thread-safe; all work before
 * cuInit.
 *
 * A name is an entry point's base name (cuMemAlloc: every ABI version and per-thread variant of
 * it), its full symbol (cuMemAlloc_v2: that one only), or "*" (every entry point but those that
 * work before cuInit). Functions that take a name return 0, or -1 where there is no such entry
 * point. */

#ifdef __cplusplus
extern "C" {
#endif

/* The nth call from now on (1: the next) fails with `result` (a CUresult) instead of running, and
 * so do those after it, `count` calls in all, every one when count < 0. Rules add up; the first
 * that applies decides. */
int simcudaFail(const char* name, unsigned long long nth, long long count, int result);

/* Calls since the start or the last reset, failed ones included. -1 where there is no such name. */
long long simcudaCallCount(const char* name);

/* How many calls a rule of simcudaFail has failed since the last reset. */
unsigned long long simcudaFailedCalls(void);

/* Every call takes this much longer; 0 ends it. */
int simcudaSetDelay(const char* name, unsigned microseconds);

/* The symbol of the entry point at an index, null past the last: to go through all of them. */
const char* simcudaEntrySymbol(unsigned index);

/* Limits. Lowering one takes nothing back. -1 where there is no such device. */
int simcudaSetDeviceMemory(int device, unsigned long long bytes);
int simcudaSetHostMemory(unsigned long long bytes);
/* Bytes in use on a device, or of page-locked and VMM host memory (device -1). */
long long simcudaMemoryUsed(int device);

/* What the devices are shared by: equal in all processes that have the same ones, and empty where
 * they are this process's alone (SIMCUDA_SHARED_DEVICES). Limits are then those of all. */
const char* simcudaSharedBy(void);

/* Uses of handles that were destroyed or never existed, of every kind. */
unsigned long long simcudaStaleHandleUses(void);

/* Forgets rules, delays and counts, and puts limits back to what the environment said. */
void simcudaReset(void);

#ifdef __cplusplus
}
#endif

#endif /* VRAMSPAN_TOOLS_SIMCUDA_CONTROL_H_ */
