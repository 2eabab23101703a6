/* A CUDA runtime without a GPU, for the tests: preloaded (LD_PRELOAD) before a torch that links libcudart.so dynamically.
 *
 * Device memory is host memory. The device has one queue, in which every copy and every kernel takes a known time. A copy is carried out
 * when its time is over, so whoever reads a result before waiting reads old bytes. Kernels only take time, and compute nothing. A process
 * that was forked after CUDA was initialized cannot use it.
 *
 * It has the functions that torch calls here; any other one is CUDA's, which finds no device.
 * No CUDA header is needed: the few types are declared below, as CUDA 13 lays them out. Switches, environment variables:
 * EMULATED_CUDA_OPERATION_US (200: what a copy or a kernel takes), EMULATED_CUDA_LAUNCH_US (0: what it takes the host to ask for one),
 * EMULATED_CUDA_WAIT_US (0: until the host learns that the device has finished), EMULATED_CUDA_CONTEXT_MS (0: the first use in a process),
 * EMULATED_CUDA_CARRIED_MB (all: of a copy, the part that is carried out), EMULATED_CUDA_LOST_AFTER (never: the operations of a process
 * after which the device is lost). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* ---- CUDA's types */

typedef int status_t;
enum { SUCCESS = 0, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, NOT_READY = 600, LAUNCH_FAILURE = 719,
       NOT_SUPPORTED = 801, UNKNOWN = 999 };
static const struct { status_t code; const char *name, *text; } ERRORS[] = {
  {SUCCESS, "cudaSuccess", "no error"},
  {OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
  {NOT_INITIALIZED, "cudaErrorInitializationError", "initialization error"},
  {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
  {NOT_READY, "cudaErrorNotReady", "device not ready"},
  {LAUNCH_FAILURE, "cudaErrorLaunchFailure", "unspecified launch failure"},
  {NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
  {UNKNOWN, "cudaErrorUnknown", "unknown error"},
};
enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3, BY_ADDRESS = 4 };   /* cudaMemcpyKind */
enum { UNREGISTERED = 0, HOST_MEMORY = 1, DEVICE_MEMORY = 2 };        /* cudaMemoryType */
typedef struct { unsigned x, y, z; } dim3_t;
typedef struct { uint64_t job; double ends_at; } event_t;
typedef struct stream stream_t; /* all streams share the queue */

/* ---- the state of this process */

#define MEMORY ((size_t)8 << 30)
static double number(const char *name, double otherwise) {
  const char *text = getenv(name);
  return text && *text ? atof(text) : otherwise;
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double operation_seconds, launch_seconds, wait_seconds, lost_after;
static size_t carried_bytes;
static uint64_t operations;
static int initialized, has_context, forked_after_initialization;
static __thread status_t last_error;

static status_t failed(status_t error) { return last_error = error; }
static int is_lost(void) { return lost_after >= 0 && operations >= lost_after; }
static status_t state(void) {
  if (forked_after_initialization) return failed(NOT_INITIALIZED);
  return is_lost() ? failed(initialized ? LAUNCH_FAILURE : UNKNOWN) : SUCCESS;
}
static void in_child(void) { forked_after_initialization |= initialized; }
__attribute__((constructor)) static void load(void) {
  operation_seconds = number("EMULATED_CUDA_OPERATION_US", 200) * 1e-6;
  launch_seconds = number("EMULATED_CUDA_LAUNCH_US", 0) * 1e-6;
  wait_seconds = number("EMULATED_CUDA_WAIT_US", 0) * 1e-6;
  lost_after = number("EMULATED_CUDA_LOST_AFTER", -1);
  carried_bytes = (size_t)number("EMULATED_CUDA_CARRIED_MB", 1 << 20) << 20;
  pthread_atfork(0, 0, in_child);
}

/* ---- time */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}
static void pass_until(double moment) { /* sleeps, and polls the last 0.2 ms, which a sleep would overshoot */
  double left;
  while ((left = moment - now()) > 0)
    if (left > 300e-6) {
      double seconds = left - 200e-6;
      struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
      nanosleep(&time, 0);
    }
}
static void make_context(void) { /* made by the first use; takes long on a real device */
  if (__atomic_exchange_n(&has_context, 1, __ATOMIC_RELAXED)) return;
  pass_until(now() + number("EMULATED_CUDA_CONTEXT_MS", 0) * 1e-3);
}

/* ---- the queue: a job ends when the job before has ended and its own time has passed. Jobs are carried out by the next call that waits or
 * asks for them, so that no thread needs to be woken up in time. */

typedef struct { void *to; const void *from; size_t nbytes; double seconds, ends_at; } job_t;
#define QUEUE_LENGTH 1024 /* a full queue blocks its host, as CUDA's does */
static job_t jobs[QUEUE_LENGTH];
static uint64_t submitted, finished;
static double idle_from;

static job_t *next_job(void) { return &jobs[finished % QUEUE_LENGTH]; }
static void finish_until(uint64_t id) { /* with the lock */
  for (; finished < id; finished++) {
    const job_t *job = next_job();
    pass_until(job->ends_at);
    size_t nbytes = job->nbytes < carried_bytes ? job->nbytes : carried_bytes;
    if (nbytes) memmove(job->to, job->from, nbytes);
  }
}
static void finish_due(void) { /* with the lock */
  double time = now();
  while (finished < submitted && next_job()->ends_at <= time) finish_until(finished + 1);
}
static job_t submit(job_t job, uint64_t *id) {
  make_context();
  pthread_mutex_lock(&lock);
  finish_due();
  if (submitted - finished == QUEUE_LENGTH) finish_until(finished + 1);
  double time = now();
  job.ends_at = idle_from = (idle_from > time ? idle_from : time) + job.seconds;
  jobs[submitted % QUEUE_LENGTH] = job;
  *id = ++submitted;
  pthread_mutex_unlock(&lock);
  return job;
}
static int is_finished(uint64_t id) {
  pthread_mutex_lock(&lock);
  finish_due();
  int is_done = finished >= id;
  pthread_mutex_unlock(&lock);
  return is_done;
}
static status_t wait_for(uint64_t id) {
  pthread_mutex_lock(&lock);
  finish_due();
  int must_wait = finished < id;
  finish_until(id);
  pthread_mutex_unlock(&lock);
  if (must_wait && wait_seconds > 0) pass_until(now() + wait_seconds);
  return state();
}
static status_t take_time(job_t job) { /* queue an operation */
  status_t error = state();
  if (error) return error;
  __atomic_add_fetch(&operations, 1, __ATOMIC_RELAXED);
  if (launch_seconds > 0) pass_until(now() + launch_seconds);
  job.seconds = operation_seconds;
  uint64_t id;
  submit(job, &id);
  return SUCCESS;
}

/* ---- memory */

static char *memory[3]; /* by type: reserved at once, and given away from its start */
static size_t held[3];

static int type_of(const void *address) {
  for (int type = HOST_MEMORY; type <= DEVICE_MEMORY; type++)
    if (memory[type] && (char *)address >= memory[type] && (char *)address < memory[type] + MEMORY) return type;
  return UNREGISTERED;
}
static status_t allocate(void **address, size_t nbytes, int type) {
  status_t error = state();
  if (error) return error;
  make_context();
  pthread_mutex_lock(&lock);
  if (!memory[type]) memory[type] = mmap(0, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char *start = memory[type] + held[type];
  size_t pages = (nbytes + 4095) / 4096 * 4096;
  int is_full = held[type] + pages > MEMORY;
  if (!is_full) held[type] += pages;
  pthread_mutex_unlock(&lock);
  if (is_full) return failed(OUT_OF_MEMORY);
  *address = start;
  return SUCCESS;
}
status_t cudaMalloc(void **address, size_t nbytes) { return allocate(address, nbytes, DEVICE_MEMORY); }
status_t cudaHostAlloc(void **address, size_t nbytes, unsigned flags) { return allocate(address, nbytes, HOST_MEMORY); }
status_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, int kind, stream_t *stream) {
  int to_type = type_of(to), from_type = type_of(from);
  if (kind == BY_ADDRESS) kind = (from_type == DEVICE_MEMORY ? 2 : 0) + (to_type == DEVICE_MEMORY ? 1 : 0);
  status_t error = take_time((job_t){.to = to, .from = from, .nbytes = nbytes});
  if (error) return error;
  /* pageable host memory is copied in the call; pinned memory in the queue */
  if ((kind == TO_HOST && to_type != HOST_MEMORY) || (kind == TO_DEVICE && from_type != HOST_MEMORY)) return wait_for(submitted);
  return SUCCESS;
}

/* ---- the device */

/* cudaDeviceProp as far as the fields that torch reads */
typedef struct {
  char name[256], uuid[16], luid[8]; unsigned luid_mask; size_t memory, shared; int registers, warp; size_t pitch;
  int block_threads, block[3], grid[3]; size_t constant; int major, minor; size_t texture_alignment, texture_pitch;
  int processors, integrated, map_host, texture[25], surface[14]; size_t surface_alignment;
  int concurrent, ecc, bus, pci, domain, tcc, engines, unified, bus_width, l2_cache, persisting_l2, processor_threads;
} properties_t;
status_t cudaGetDeviceProperties(properties_t *properties, int device) {
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "Emulated CUDA device");
  properties->memory = MEMORY, properties->warp = 32, properties->block_threads = 1024, properties->shared = 49152;
  properties->registers = 65536, properties->block[0] = properties->block[1] = 1024, properties->block[2] = 64;
  properties->grid[0] = 2147483647, properties->grid[1] = properties->grid[2] = 65535, properties->major = 9;
  properties->processors = 4, properties->processor_threads = 2048, properties->l2_cache = 4 << 20, properties->unified = 1;
  return SUCCESS;
}
status_t cudaGetDeviceCount(int *count) {
  *count = 0;
  status_t error = state();
  if (error) return error;
  initialized = *count = 1;
  return SUCCESS;
}
status_t cudaGetDevice(int *device) { return *device = 0, SUCCESS; }
status_t cudaSetDevice(int device) {
  if (forked_after_initialization) return failed(NOT_INITIALIZED);
  if (device) return failed(INVALID_DEVICE);
  initialized = 1;
  make_context(); /* as from CUDA 12 on */
  return SUCCESS;
}
status_t cudaDriverGetVersion(int *version) { return *version = 13020, SUCCESS; }
status_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, SUCCESS; }
status_t cudaDeviceSynchronize(void) { return wait_for(submitted); }

/* ---- errors */

status_t cudaGetLastError(void) {
  status_t error = last_error;
  last_error = SUCCESS;
  return error;
}
static int row_of(status_t error) {
  int row = sizeof ERRORS / sizeof *ERRORS - 1;
  while (row && ERRORS[row].code != error) row--;
  return row;
}
const char *cudaGetErrorName(status_t error) { return ERRORS[row_of(error)].name; }
const char *cudaGetErrorString(status_t error) { return ERRORS[row_of(error)].text; }

/* ---- streams and events */

status_t cudaStreamSynchronize(stream_t *stream) { return wait_for(submitted); }
status_t cudaStreamIsCapturing(stream_t *stream, int *status) { return *status = 0, SUCCESS; }
status_t cudaStreamGetCaptureInfo(stream_t *stream, int *status) { return *status = 0, SUCCESS; }
status_t cudaEventCreateWithFlags(event_t **event, unsigned flags) { return *event = calloc(1, sizeof **event), SUCCESS; }
status_t cudaEventDestroy(event_t *event) { return free(event), SUCCESS; }
status_t cudaEventRecord(event_t *event, stream_t *stream) {
  event->ends_at = submit((job_t){.seconds = 0}, &event->job).ends_at;
  return state();
}
status_t cudaEventRecordWithFlags(event_t *event, stream_t *stream, unsigned flags) { return cudaEventRecord(event, stream); }
status_t cudaEventQuery(event_t *event) { return is_finished(event->job) ? SUCCESS : NOT_READY; }
status_t cudaEventSynchronize(event_t *event) { return wait_for(event->job); }
status_t cudaEventElapsedTime(float *milliseconds, event_t *start, event_t *end) {
  *milliseconds = (float)((end->ends_at - start->ends_at) * 1e3);
  return is_finished(start->job) && is_finished(end->job) ? SUCCESS : failed(NOT_READY);
}

/* ---- kernels */

void **__cudaRegisterFatBinary(void *code) {
  static void *module;
  return &module;
}
void __cudaRegisterFatBinaryEnd(void **module) {}
void __cudaUnregisterFatBinary(void **module) {}
void __cudaRegisterFunction(void **a, const char *b, char *c, const char *d, int e, void *f, void *g, void *h, void *i, int *j) {}
void __cudaRegisterVar(void **module, char *host, char *device, const char *name, int external, size_t nbytes, int constant, int global) {}
static __thread struct { dim3_t grid, block; size_t shared; void *stream; } configuration;
unsigned __cudaPushCallConfiguration(dim3_t grid, dim3_t block, size_t shared, void *stream) {
  configuration.grid = grid, configuration.block = block, configuration.shared = shared, configuration.stream = stream;
  return 0;
}
status_t __cudaPopCallConfiguration(dim3_t *grid, dim3_t *block, size_t *shared, void *stream) {
  *grid = configuration.grid, *block = configuration.block, *shared = configuration.shared, *(void **)stream = configuration.stream;
  return SUCCESS;
}
status_t cudaLaunchKernel(const void *function, dim3_t grid, dim3_t block, void **arguments, size_t shared, void *stream) {
  return take_time((job_t){0});
}
status_t __cudaLaunchKernel(const void *kernel, dim3_t grid, dim3_t block, void **arguments, size_t shared, void *stream) {
  return take_time((job_t){0});
}
status_t __cudaGetKernel(const void **kernel, const void *function) { return *kernel = function, SUCCESS; }

/* ---- the driver: torch looks these up, in this library by its SONAME libcuda.so.1 */

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
int cuGetErrorString(int error, const char **text) { return *text = cudaGetErrorString(error), 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { return *flags = 0, *active = has_context, 0; }
static int not_supported(void) { return NOT_SUPPORTED; }
status_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags, int *result) {
  *function = strcmp(name, "cuDevicePrimaryCtxGetState") ? (void *)not_supported : (void *)cuDevicePrimaryCtxGetState;
  if (result) *result = 0;
  return SUCCESS;
}
status_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *result) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, result);
}
