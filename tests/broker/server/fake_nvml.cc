// NVML of one device, whose use stands in the file $FAKE_NVML_USE: "CAPACITY USED", then a line
// "PID BYTES" for each process.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

namespace {

std::vector<Process> ReadUse(Memory* memory) {
  std::vector<Process> processes;
  *memory = {};
  FILE* const file = fopen(getenv("FAKE_NVML_USE"), "re");
  if (file == nullptr) return processes;
  if (fscanf(file, "%llu %llu", &memory->total, &memory->used) == 2) {
    Process process = {};
    while (fscanf(file, "%u %llu", &process.pid, &process.bytes) == 2) {
      processes.push_back(process);
    }
  }
  fclose(file);
  return processes;
}

}  // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int nvmlInit_v2() { return 0; }
EXPORTED const char* nvmlErrorString(int) { return "an error"; }
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 1, 0; }
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  static int one;
  return *device = &one, 0;
}
EXPORTED int nvmlDeviceGetUUID(void*, char* uuid, unsigned) {
  strcpy(uuid, "GPU-01010101-0101-0101-0101-010101010101");
  return 0;
}
EXPORTED int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  ReadUse(memory);
  return 0;
}
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* infos) {
  Memory memory;
  const std::vector<Process> processes = ReadUse(&memory);
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < *count) return 7;
  for (size_t i = 0; i < processes.size(); ++i) infos[i] = processes[i];
  return 0;
}
}
