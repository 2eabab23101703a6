/* NVIDIA's management library without a driver: what `tensorcopy machine` reads of the emulated devices. README.md has its switches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };
typedef unsigned long long nbytes_t;
extern double emulated_cuda_idle_seconds(void) __attribute__((weak)); /* of cuda_runtime.c */

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}
static long index_of(void *device) { return (long)device - 1; }
/* Returns a switch for the device EMULATED_NVML_ONLY, or for every device where it is not set. */
static long of_device(void *device, const char *name, long otherwise) {
  return number("EMULATED_NVML_ONLY", index_of(device)) == index_of(device) ? number(name, otherwise) : otherwise;
}

static long devices(void) { return number("EMULATED_CUDA_DEVICES", 1); }

int nvmlInit_v2(void) { return number("EMULATED_NVML_NO_DRIVER", 0) ? DRIVER_NOT_LOADED : SUCCESS; }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int error) {
  switch (error) {
    case SUCCESS: return "The operation was successful";
    case NO_PERMISSION: return "Insufficient Permissions";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    default: return "Not Supported";
  }
}
int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  const char *version = getenv("EMULATED_NVML_DRIVER");
  return snprintf(text, length, "%s", version ? version : "580.0.0"), SUCCESS;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
  const char *text = getenv("EMULATED_CUDA_CAPABILITY");
  return sscanf(text ? text : "9.0", "%d.%d", major, minor), SUCCESS;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = 13000, SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = (unsigned)devices(), SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  return *device = (void *)(long)(index + 1), index < devices() ? SUCCESS : NOT_FOUND;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) { /* of an index, as nvmlDeviceGetUUID returns it */
  unsigned number;
  if (sscanf(uuid, "GPU-%2x", &number) != 1 || number < 1 || number > (unsigned)devices()) return NOT_FOUND;
  return *device = (void *)(long)number, SUCCESS;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
  unsigned bus = 1;
  const char *colon = strchr(address, ':');
  if (colon) sscanf(colon + 1, "%x", &bus);
  return *device = (void *)(long)bus, SUCCESS;
}
/* torch looks these up when memory is short */
int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type) { return NOT_SUPPORTED; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *address) { return NOT_SUPPORTED; }
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes) { return *count = 0, SUCCESS; }
int nvmlDeviceGetIndex(void *device, unsigned *index) { return *index = (unsigned)index_of(device), SUCCESS; }
int nvmlDeviceGetName(void *device, char *text, unsigned length) {
  return snprintf(text, length, "Emulated CUDA device %ld", index_of(device)), SUCCESS;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned length) { /* as the runtime's 16 bytes */
  return snprintf(text, length, "GPU-%02lx000000-0000-0000-0000-000000000000", index_of(device) + 1), SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *device, nbytes_t *total_free_used) {
  total_free_used[0] = (nbytes_t)number("EMULATED_CUDA_MEMORY_MB", 8192) << 20;
  total_free_used[2] = (nbytes_t)of_device(device, "EMULATED_NVML_USED_MB", 1) << 20;
  total_free_used[1] = total_free_used[0] - total_free_used[2];
  return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(void *device, unsigned *gpu_memory) {
  if (of_device(device, "EMULATED_NVML_MIG", 0)) return NOT_SUPPORTED;
  gpu_memory[0] = (unsigned)of_device(device, "EMULATED_NVML_BUSY", 0), gpu_memory[1] = 0;
  return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes) {
  if (of_device(device, "EMULATED_NVML_DENIED", 0)) return NO_PERMISSION;
  return *count = 0, SUCCESS;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz) { /* low while idle */
  int in_use = emulated_cuda_idle_seconds && emulated_cuda_idle_seconds() < 0.02;
  return *megahertz = in_use ? 1755 : 345, SUCCESS;
}
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *megahertz) { return *megahertz = 1980, SUCCESS; }
int nvmlDeviceGetApplicationsClock(void *device, int kind, unsigned *megahertz) { return *megahertz = 1980, SUCCESS; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { return *celsius = 31, SUCCESS; }
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *milliwatts) { return *milliwatts = 700000, SUCCESS; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) { return *milliwatts = 700000, SUCCESS; }
int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *after_reboot) { return *now = *after_reboot = 1, SUCCESS; }
int nvmlDeviceGetPersistenceMode(void *device, unsigned *is_on) { return *is_on = (unsigned)of_device(device, "EMULATED_NVML_PERSISTENCE", 1), SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(void *device, nbytes_t *reasons) {
  return *reasons = (nbytes_t)of_device(device, "EMULATED_NVML_CLOCK_REASONS", 1), SUCCESS; /* 1: idle */
}
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *after_reset) {
  return *now = *after_reset = (unsigned)of_device(device, "EMULATED_NVML_MIG", 0), SUCCESS;
}
