/* A CUDA runtime without a GPU, for the tests. README.md beside this file describes it and its switches.
 *
 * Preloaded (LD_PRELOAD) before a torch that links libcudart.so dynamically. Device memory is host memory. Each device has one queue, in
 * which every job takes a known time. A copy is carried out when its time is over, so whoever reads a result before waiting reads old
 * bytes. Kernels only take time; site/emulated_kernels.py computes their results.
 *
 * No CUDA header is needed: the few types are declared below, as CUDA 12 and 13 lay them out. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- CUDA's types */

typedef int status_t;
enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INSUFFICIENT_DRIVER = 35, NO_DEVICE = 100, INVALID_DEVICE = 101, NO_KERNEL_IMAGE = 209,
  NOT_READY = 600, LAUNCH_FAILURE = 719, NOT_SUPPORTED = 801, UNKNOWN = 999
};
static const struct { status_t code; const char *name, *text; } ERRORS[] = {
  {SUCCESS, "cudaSuccess", "no error"},
  {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
  {OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
  {NOT_INITIALIZED, "cudaErrorInitializationError", "initialization error"},
  {INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
  {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
  {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
  {NO_KERNEL_IMAGE, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
  {NOT_READY, "cudaErrorNotReady", "device not ready"},
  {LAUNCH_FAILURE, "cudaErrorLaunchFailure", "unspecified launch failure"},
  {NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
  {UNKNOWN, "cudaErrorUnknown", "unknown error"},
};
enum { TO_HOST_FROM_HOST = 0, TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3, BY_ADDRESS = 4 }; /* cudaMemcpyKind */
enum { UNREGISTERED = 0, HOST_MEMORY = 1, DEVICE_MEMORY = 2 };                              /* cudaMemoryType */
typedef struct { unsigned x, y, z; } dim3_t;
typedef struct { int type, device; void *device_pointer, *host_pointer; long reserved[8]; } pointer_attributes_t;
typedef struct { size_t shared, constant, local; int max_threads, registers, ptx, binary, more[32]; } function_attributes_t;
typedef struct { int device; } stream_t;
typedef struct { int device; uint64_t job; double ends_at; } event_t;

/* ---- switches */

#define DEVICES 8
static double number(const char *name, double otherwise) {
  const char *text = getenv(name);
  return text && *text ? atof(text) : otherwise;
}
static double operation_seconds, wait_seconds, bytes_per_second;
static size_t carried_bytes;
static int installed_devices(void) {
  int count = (int)number("EMULATED_CUDA_DEVICES", 1);
  return count < DEVICES ? count : DEVICES;
}
static size_t device_bytes(void) { return (size_t)number("EMULATED_CUDA_MEMORY_MB", 8192) << 20; }

/* Fills `indices` with the installed devices that CUDA_VISIBLE_DEVICES selects, and returns how many. */
static int visible_devices(int *indices) {
  int installed = installed_devices(), count = 0;
  const char *text = getenv("CUDA_VISIBLE_DEVICES");
  if (!text) for (; count < installed; count++) indices[count] = count;
  while (text && *text && count < DEVICES) {
    char *end;
    long index = strtol(text, &end, 10);
    if (end == text || index < 0 || index >= installed) break; /* CUDA ignores what follows an invalid index */
    indices[count++] = (int)index;
    text = *end == ',' ? end + 1 : "";
  }
  return count;
}

/* ---- counters, shared by all processes that name the same file */

enum { CONTEXTS, COPIES, KERNELS, WAITS, ALLOCATIONS, COUNTERS };
static uint64_t own_counters[COUNTERS], *counters = own_counters;
static void count(int what) { __atomic_add_fetch(&counters[what], 1, __ATOMIC_RELAXED); }
static uint64_t operations(void) { return counters[COPIES] + counters[KERNELS]; }
static void map_counters(void) {
  const char *path = getenv("EMULATED_CUDA_COUNTERS");
  int file = path ? open(path, O_RDWR | O_CREAT, 0666) : -1;
  if (file < 0) return;
  if (ftruncate(file, sizeof own_counters) == 0) {
    void *shared = mmap(0, sizeof own_counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) counters = shared;
  }
  close(file);
}

/* ---- the state of this process */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialized, has_context[DEVICES], forked_after_initialization;
static __thread int current_device;
static __thread status_t last_error;

static status_t failed(status_t error) { return last_error = error; }

/* A device that has fallen off the bus: what runs on it fails, and a new process cannot initialize it. */
static int is_lost(void) {
  double after = number("EMULATED_CUDA_LOST_AFTER", -1);
  return after >= 0 && operations() >= after;
}

static void in_child(void) { forked_after_initialization |= initialized; }

__attribute__((constructor)) static void load(void) {
  operation_seconds = number("EMULATED_CUDA_OPERATION_US", 200) * 1e-6;
  wait_seconds = number("EMULATED_CUDA_WAIT_US", 0) * 1e-6;
  bytes_per_second = number("EMULATED_CUDA_GBPS", 0) * 1e9;
  carried_bytes = (size_t)number("EMULATED_CUDA_CARRIED_MB", 1 << 20) << 20;
  map_counters();
  pthread_atfork(0, 0, in_child);
  /* Python's half must reach processes whose PYTHONPATH somebody else sets: this library is loaded before Python reads the variable. */
  const char *callers = getenv("PYTHONPATH");
  char path[8192];
  if (!callers || strncmp(callers, SITE, strlen(SITE))) {
    snprintf(path, sizeof path, "%s%s%s", SITE, callers && *callers ? ":" : "", callers ? callers : "");
    setenv("PYTHONPATH", path, 1);
  }
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
static void pass_milliseconds(double milliseconds) { if (milliseconds > 0) pass_until(now() + milliseconds * 1e-3); }

/* ---- a queue for each device: a job ends when the job before has ended and its own time has passed. Jobs are carried out by the next
 * call that waits or asks for them, so that no thread needs to be woken up in time. */

typedef struct {
  enum { NOTHING, COPY, SET } work;
  void *to;
  const void *from;
  size_t nbytes;
  int byte;
  double seconds, ends_at;
} job_t;
#define QUEUE_LENGTH 1024 /* a full queue blocks its host, as CUDA's does */
static struct { job_t jobs[QUEUE_LENGTH]; uint64_t submitted, finished; double idle_from; } queues[DEVICES];

static void carry_out(const job_t *job) {
  size_t nbytes = job->nbytes < carried_bytes ? job->nbytes : carried_bytes;
  if (job->work == COPY) memmove(job->to, job->from, nbytes);
  if (job->work == SET) memset(job->to, job->byte, nbytes);
}
static job_t *next_job(int device) { return &queues[device].jobs[queues[device].finished % QUEUE_LENGTH]; }
static void finish_until(int device, uint64_t id) { /* with the lock */
  for (; queues[device].finished < id; queues[device].finished++) {
    pass_until(next_job(device)->ends_at);
    carry_out(next_job(device));
  }
}
static void finish_due(int device) { /* with the lock */
  double time = now();
  while (queues[device].finished < queues[device].submitted && next_job(device)->ends_at <= time) finish_until(device, queues[device].finished + 1);
}

static void make_context(int device) { /* made by the first use of a device; takes long on a real one */
  pthread_mutex_lock(&lock);
  int is_new = !has_context[device];
  has_context[device] = 1;
  pthread_mutex_unlock(&lock);
  if (!is_new) return;
  count(CONTEXTS);
  pass_milliseconds(number("EMULATED_CUDA_CONTEXT_MS", 0));
}

static job_t submit(int device, job_t job, uint64_t *id) {
  make_context(device);
  pthread_mutex_lock(&lock);
  finish_due(device);
  if (queues[device].submitted - queues[device].finished == QUEUE_LENGTH) finish_until(device, queues[device].finished + 1);
  double time = now(), begins_at = queues[device].idle_from > time ? queues[device].idle_from : time;
  job.ends_at = queues[device].idle_from = begins_at + job.seconds;
  queues[device].jobs[queues[device].submitted % QUEUE_LENGTH] = job;
  *id = ++queues[device].submitted;
  pthread_mutex_unlock(&lock);
  return job;
}

/* Returns the seconds since the last job of any device ended; nvml.c derives a clock from it. */
double emulated_cuda_idle_seconds(void) {
  double last = 0;
  for (int device = 0; device < DEVICES; device++) if (queues[device].idle_from > last) last = queues[device].idle_from;
  return now() - last;
}

static int is_finished(int device, uint64_t id) {
  pthread_mutex_lock(&lock);
  finish_due(device);
  int finished = queues[device].finished >= id;
  pthread_mutex_unlock(&lock);
  return finished;
}

static void wait_for(int device, uint64_t id) {
  pthread_mutex_lock(&lock);
  finish_due(device);
  int must_wait = queues[device].finished < id;
  finish_until(device, id);
  pthread_mutex_unlock(&lock);
  if (must_wait && wait_seconds > 0) pass_until(now() + wait_seconds); /* the host hears of the end later */
}
static void wait_for_all(int device) { wait_for(device, queues[device].submitted); }

static status_t state(void) {
  if (forked_after_initialization) return failed(NOT_INITIALIZED);
  return is_lost() ? failed(initialized ? LAUNCH_FAILURE : UNKNOWN) : SUCCESS;
}
static int device_of(stream_t *stream) { return stream && (uintptr_t)stream > 2 ? stream->device : current_device; } /* 1 and 2: default streams */

/* The first use of an operation loads its code: "kernel" by its name, "copy" by its direction. */
static void load_code(const void *operation) {
  static const void *loaded[4096];
  static int number_loaded;
  for (int i = 0; i < number_loaded; i++) if (loaded[i] == operation) return;
  if (number_loaded < 4096) loaded[number_loaded++] = operation;
  pass_milliseconds(number("EMULATED_CUDA_LOAD_MS", 0));
}

/* ---- memory */

#define BLOCKS 65536
static struct { char *start; size_t nbytes; int type, device; } blocks[BLOCKS];
static int number_of_blocks;
static size_t held[DEVICES];

static int block_with(const void *address) { /* with the lock; -1 for memory that this library has not allocated */
  for (int i = 0; i < number_of_blocks; i++)
    if (blocks[i].start && (char *)address >= blocks[i].start && (char *)address < blocks[i].start + blocks[i].nbytes) return i;
  return -1;
}
static int type_of(const void *address, int *device) {
  pthread_mutex_lock(&lock);
  int i = block_with(address), type = i < 0 ? UNREGISTERED : blocks[i].type;
  if (device) *device = i < 0 ? -2 : blocks[i].device; /* -2: cudaInvalidDeviceId */
  pthread_mutex_unlock(&lock);
  return type;
}
static status_t allocate(void **address, size_t nbytes, int type) {
  status_t error = state();
  if (error) return error;
  make_context(current_device);
  size_t pages = (nbytes + 4095) & ~(size_t)4095;
  pthread_mutex_lock(&lock);
  int is_full = type == DEVICE_MEMORY && held[current_device] + nbytes > device_bytes();
  int i = 0;
  while (i < number_of_blocks && blocks[i].start) i++;
  void *start = is_full || i == BLOCKS ? MAP_FAILED : mmap(0, pages ? pages : 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start != MAP_FAILED) {
    if (i == number_of_blocks) number_of_blocks++;
    blocks[i].start = start, blocks[i].nbytes = nbytes, blocks[i].type = type, blocks[i].device = current_device;
    if (type == DEVICE_MEMORY) held[current_device] += nbytes;
  }
  pthread_mutex_unlock(&lock);
  if (start == MAP_FAILED) return failed(OUT_OF_MEMORY);
  if (type == DEVICE_MEMORY) count(ALLOCATIONS);
  *address = start;
  return SUCCESS;
}
static status_t release(void *address) {
  pthread_mutex_lock(&lock);
  int i = address ? block_with(address) : -1;
  int device = i < 0 ? current_device : blocks[i].device;
  pthread_mutex_unlock(&lock);
  wait_for_all(device); /* cudaFree waits */
  if (i < 0) return address ? failed(INVALID_VALUE) : SUCCESS;
  pthread_mutex_lock(&lock);
  if (blocks[i].type == DEVICE_MEMORY) held[device] -= blocks[i].nbytes;
  munmap(blocks[i].start, (blocks[i].nbytes + 4095) & ~(size_t)4095);
  blocks[i].start = 0;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

status_t cudaMalloc(void **address, size_t nbytes) { return allocate(address, nbytes, DEVICE_MEMORY); }
status_t cudaMallocManaged(void **address, size_t nbytes, unsigned flags) { return allocate(address, nbytes, DEVICE_MEMORY); }
status_t cudaHostAlloc(void **address, size_t nbytes, unsigned flags) { return allocate(address, nbytes, HOST_MEMORY); }
status_t cudaMallocHost(void **address, size_t nbytes) { return allocate(address, nbytes, HOST_MEMORY); }
status_t cudaFree(void *address) { return release(address); }
status_t cudaFreeHost(void *address) { return release(address); }
status_t cudaHostRegister(void *address, size_t nbytes, unsigned flags) { return SUCCESS; }
status_t cudaHostUnregister(void *address) { return SUCCESS; }
status_t cudaMemGetInfo(size_t *available, size_t *total) {
  status_t error = state();
  if (error) return error;
  make_context(current_device);
  *total = device_bytes(), *available = *total - held[current_device];
  return SUCCESS;
}
status_t cudaPointerGetAttributes(pointer_attributes_t *attributes, const void *address) {
  memset(attributes, 0, sizeof(int) * 2 + sizeof(void *) * 2);
  attributes->type = type_of(address, &attributes->device);
  if (attributes->type == DEVICE_MEMORY) attributes->device_pointer = (void *)address;
  if (attributes->type == HOST_MEMORY) attributes->device_pointer = attributes->host_pointer = (void *)address;
  return SUCCESS;
}

/* ---- copies */

static double seconds_of(size_t nbytes) { return operation_seconds + (bytes_per_second > 0 ? nbytes / bytes_per_second : 0); }

status_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, int kind, stream_t *stream) {
  static const char directions[4];
  status_t error = state();
  if (error) return error;
  int to_type = type_of(to, 0), from_type = type_of(from, 0);
  if (kind == BY_ADDRESS) kind = (from_type == DEVICE_MEMORY ? 2 : 0) + (to_type == DEVICE_MEMORY ? 1 : 0);
  load_code(&directions[kind & 3]);
  count(COPIES);
  int device = device_of(stream);
  uint64_t id;
  submit(device, (job_t){.work = COPY, .to = to, .from = from, .nbytes = nbytes, .seconds = seconds_of(nbytes)}, &id);
  /* pageable host memory is copied in the call; pinned memory in the queue */
  if ((kind == TO_HOST && to_type != HOST_MEMORY) || (kind == TO_DEVICE && from_type != HOST_MEMORY)) wait_for(device, id);
  return SUCCESS;
}
status_t cudaMemcpy(void *to, const void *from, size_t nbytes, int kind) {
  status_t error = cudaMemcpyAsync(to, from, nbytes, kind, 0);
  if (!error) wait_for_all(current_device);
  return error;
}
status_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t nbytes, stream_t *stream) {
  return cudaMemcpyAsync(to, from, nbytes, ON_DEVICE, stream);
}
status_t cudaMemsetAsync(void *to, int byte, size_t nbytes, stream_t *stream) {
  status_t error = state();
  if (error) return error;
  count(KERNELS);
  uint64_t id;
  submit(device_of(stream), (job_t){.work = SET, .to = to, .byte = byte, .nbytes = nbytes, .seconds = seconds_of(nbytes)}, &id);
  return SUCCESS;
}
status_t cudaMemset(void *to, int byte, size_t nbytes) { return cudaMemsetAsync(to, byte, nbytes, 0); }
status_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t nbytes, size_t offset, int kind) { return SUCCESS; }
status_t cudaGetSymbolAddress(void **address, const void *symbol) {
  static char memory[4096];
  *address = memory;
  return SUCCESS;
}

/* ---- devices */

/* cudaDeviceProp as far as the fields that torch reads. CUDA 12 has a few that CUDA 13 has removed. */
#define IDENTITY char name[256], uuid[16], luid[8]; unsigned luid_mask; size_t memory, shared; int registers, warp; size_t pitch; \
  int block_threads, block[3], grid[3]
#define TEXTURES int texture[25], surface[14]; size_t surface_alignment; int concurrent, ecc, bus, pci, domain, tcc, engines, unified
#define PROCESSOR int bus_width, l2_cache, persisting_l2, processor_threads, priorities, global_l1, local_l1; size_t processor_shared
typedef struct {
  IDENTITY;
  int clock;
  size_t constant;
  int major, minor;
  size_t texture_alignment, texture_pitch;
  int overlap, processors, timeout, integrated, map_host, mode, linear;
  TEXTURES;
  int memory_clock;
  PROCESSOR;
} properties_12_t;
typedef struct {
  IDENTITY;
  size_t constant;
  int major, minor;
  size_t texture_alignment, texture_pitch;
  int processors, integrated, map_host;
  TEXTURES;
  PROCESSOR;
} properties_13_t;
static int major_capability(void) { return (int)number("EMULATED_CUDA_CAPABILITY", 9.0); }
static int minor_capability(void) { return (int)(number("EMULATED_CUDA_CAPABILITY", 9.0) * 10 + 0.5) % 10; }
#define DESCRIBE(properties) \
  memset(properties, 0, sizeof *(properties)); \
  snprintf((properties)->name, sizeof (properties)->name, "Emulated CUDA device %d", device); \
  (properties)->uuid[0] = (char)(device + 1), (properties)->bus = device + 1; \
  (properties)->memory = device_bytes(), (properties)->warp = 32, (properties)->block_threads = 1024; \
  (properties)->shared = 49152, (properties)->registers = 65536; \
  (properties)->block[0] = (properties)->block[1] = 1024, (properties)->block[2] = 64; \
  (properties)->grid[0] = 2147483647, (properties)->grid[1] = (properties)->grid[2] = 65535; \
  (properties)->major = major_capability(), (properties)->minor = minor_capability(); \
  (properties)->processors = 4, (properties)->processor_threads = 2048, (properties)->l2_cache = 4 << 20, (properties)->unified = 1

static status_t installed_index(int *device) { /* from the index among the visible ones */
  int indices[DEVICES], count = visible_devices(indices);
  if (*device < 0 || *device >= count) return failed(INVALID_DEVICE);
  *device = indices[*device];
  return SUCCESS;
}
status_t cudaGetDeviceProperties(void *properties, int device) {
  status_t error = installed_index(&device);
  if (error) return error;
  DESCRIBE((properties_13_t *)properties);
  return SUCCESS;
}
status_t cudaGetDeviceProperties_v2(void *properties, int device) { /* CUDA 12's name */
  status_t error = installed_index(&device);
  if (error) return error;
  DESCRIBE((properties_12_t *)properties);
  return SUCCESS;
}
status_t cudaDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case 1: *value = 1024; break;                  /* threads of a block */
    case 5: *value = 2147483647; break;            /* x of a grid */
    case 8: *value = 49152; break;                 /* shared memory of a block */
    case 10: *value = 32; break;                   /* warp */
    case 16: *value = 4; break;                    /* multiprocessors */
    case 39: *value = 2048; break;                 /* threads of a multiprocessor */
    case 75: *value = major_capability(); break;
    case 76: *value = minor_capability(); break;
    default: *value = 1;
  }
  return SUCCESS;
}
static int driver_version(void) { return (int)number("EMULATED_CUDA_DRIVER", 13000); }
status_t cudaGetDeviceCount(int *count) {
  int indices[DEVICES];
  *count = 0;
  if (driver_version() < 13000) return failed(INSUFFICIENT_DRIVER);
  if (forked_after_initialization) return failed(NOT_INITIALIZED);
  if (is_lost() && !initialized) return failed(UNKNOWN);
  initialized = 1;
  *count = visible_devices(indices);
  return *count ? SUCCESS : failed(NO_DEVICE);
}
status_t cudaGetDevice(int *device) { return *device = current_device, SUCCESS; }
status_t cudaSetDevice(int device) {
  int index = device;
  if (forked_after_initialization) return failed(NOT_INITIALIZED);
  status_t error = installed_index(&index);
  if (error) return error;
  initialized = 1, current_device = device;
  make_context(device); /* as from CUDA 12 on */
  return SUCCESS;
}
status_t cudaDriverGetVersion(int *version) { return *version = driver_version(), SUCCESS; }
status_t cudaRuntimeGetVersion(int *version) { return *version = 13000, SUCCESS; }
status_t cudaDeviceGetPCIBusId(char *text, int length, int device) { return snprintf(text, length, "0000:%02x:00.0", device + 1), SUCCESS; }
status_t cudaDeviceCanAccessPeer(int *can, int device, int peer) { return *can = 0, SUCCESS; }
status_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { return SUCCESS; }
status_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, SUCCESS; }
status_t cudaDeviceSynchronize(void) {
  status_t error = state();
  if (error) return error;
  make_context(current_device);
  count(WAITS);
  wait_for_all(current_device);
  return state();
}

/* ---- errors */

status_t cudaGetLastError(void) {
  status_t error = last_error;
  last_error = SUCCESS;
  return error;
}
status_t cudaPeekAtLastError(void) { return last_error; }
static int row_of(status_t error) {
  int rows = sizeof ERRORS / sizeof *ERRORS;
  for (int i = 0; i < rows; i++) if (ERRORS[i].code == error) return i;
  return rows - 1;
}
const char *cudaGetErrorName(status_t error) { return ERRORS[row_of(error)].name; }
const char *cudaGetErrorString(status_t error) { return ERRORS[row_of(error)].text; }

/* ---- streams and events: all streams of a device share its queue */

status_t cudaStreamCreate(stream_t **stream) {
  *stream = calloc(1, sizeof **stream);
  (*stream)->device = current_device;
  return SUCCESS;
}
status_t cudaStreamCreateWithFlags(stream_t **stream, unsigned flags) { return cudaStreamCreate(stream); }
status_t cudaStreamCreateWithPriority(stream_t **stream, unsigned flags, int priority) { return cudaStreamCreate(stream); }
status_t cudaStreamDestroy(stream_t *stream) { return SUCCESS; }
status_t cudaStreamGetPriority(stream_t *stream, int *priority) { return *priority = 0, SUCCESS; }
status_t cudaStreamSynchronize(stream_t *stream) {
  status_t error = state();
  if (error) return error;
  count(WAITS);
  wait_for_all(device_of(stream));
  return state();
}
status_t cudaStreamQuery(stream_t *stream) {
  int device = device_of(stream);
  return is_finished(device, queues[device].submitted) ? SUCCESS : NOT_READY;
}
status_t cudaStreamWaitEvent(stream_t *stream, event_t *event, unsigned flags) { return SUCCESS; }
status_t cudaStreamIsCapturing(stream_t *stream, int *status) { return *status = 0, SUCCESS; }
status_t cudaStreamGetCaptureInfo(stream_t *stream, int *status) { return *status = 0, SUCCESS; }
status_t cudaStreamGetCaptureInfo_v2(stream_t *stream, int *status) { return *status = 0, SUCCESS; }
status_t cudaThreadExchangeStreamCaptureMode(int *mode) { return SUCCESS; }

status_t cudaEventCreateWithFlags(event_t **event, unsigned flags) { return *event = calloc(1, sizeof **event), SUCCESS; }
status_t cudaEventCreate(event_t **event) { return cudaEventCreateWithFlags(event, 0); }
status_t cudaEventDestroy(event_t *event) {
  free(event);
  return SUCCESS;
}
status_t cudaEventRecord(event_t *event, stream_t *stream) {
  status_t error = state();
  if (error) return error;
  event->device = device_of(stream);
  event->ends_at = submit(event->device, (job_t){.seconds = 0}, &event->job).ends_at;
  return SUCCESS;
}
status_t cudaEventRecordWithFlags(event_t *event, stream_t *stream, unsigned flags) { return cudaEventRecord(event, stream); }
status_t cudaEventQuery(event_t *event) { return is_finished(event->device, event->job) ? SUCCESS : NOT_READY; }
status_t cudaEventSynchronize(event_t *event) {
  status_t error = state();
  if (error) return error;
  count(WAITS);
  wait_for(event->device, event->job);
  return SUCCESS;
}
status_t cudaEventElapsedTime(float *milliseconds, event_t *start, event_t *end) {
  if (!is_finished(start->device, start->job) || !is_finished(end->device, end->job)) return failed(NOT_READY);
  *milliseconds = (float)((end->ends_at - start->ends_at) * 1e3);
  return SUCCESS;
}

/* ---- kernels: torch's spin_kernel stands for all; another one would compute nothing, and is refused by its name */

static struct { const void *function; const char *name; } *kernels;
static int number_of_kernels, room_for_kernels;
void __cudaRegisterFunction(void **module, const char *function, char *device_function, const char *name, int limit, void *a, void *b, void *c,
                            void *d, int *e) {
  if (number_of_kernels == room_for_kernels) {
    room_for_kernels = room_for_kernels ? room_for_kernels * 2 : 4096;
    kernels = realloc(kernels, room_for_kernels * sizeof *kernels);
  }
  kernels[number_of_kernels].function = function, kernels[number_of_kernels++].name = name;
}
void **__cudaRegisterFatBinary(void *code) {
  static void *module;
  return &module;
}
void __cudaRegisterFatBinaryEnd(void **module) {}
void __cudaUnregisterFatBinary(void **module) {}
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

static status_t launch(const void *function) {
  status_t error = state();
  if (error) return error;
  if (number("EMULATED_CUDA_NO_KERNELS", 0)) return failed(NO_KERNEL_IMAGE);
  static const void *spin;
  const char *name = "unknown";
  for (int i = 0; function != spin && i < number_of_kernels; i++)
    if (kernels[i].function == function) {
      name = kernels[i].name;
      if (strstr(name, "spin_kernel")) spin = function;
      break;
    }
  if (function != spin) {
    fprintf(stderr, "emulated CUDA: add the operator of this kernel to emulated_kernels.py: %s\n", name);
    return failed(NOT_SUPPORTED);
  }
  load_code(function);
  count(KERNELS);
  uint64_t id;
  submit(current_device, (job_t){.seconds = operation_seconds}, &id);
  return SUCCESS;
}
status_t cudaLaunchKernel(const void *function, dim3_t grid, dim3_t block, void **arguments, size_t shared, void *stream) { return launch(function); }
status_t __cudaLaunchKernel(const void *kernel, dim3_t grid, dim3_t block, void **arguments, size_t shared, void *stream) { return launch(kernel); }
status_t __cudaGetKernel(const void **kernel, const void *function) { return *kernel = function, SUCCESS; }
status_t cudaLaunchKernelExC(const void *configuration, const void *function, void **arguments) { return launch(function); }
status_t cudaLaunchCooperativeKernel(const void *function, dim3_t grid, dim3_t block, void **arguments, size_t shared, void *stream) {
  return launch(function);
}
status_t cudaFuncGetAttributes(function_attributes_t *attributes, const void *function) {
  if (number("EMULATED_CUDA_NO_KERNELS", 0)) return failed(NO_KERNEL_IMAGE);
  memset(attributes, 0, offsetof(function_attributes_t, more));
  attributes->max_threads = 1024, attributes->registers = 32, attributes->ptx = attributes->binary = 90;
  return SUCCESS;
}
status_t cudaFuncSetAttribute(const void *function, int attribute, int value) { return SUCCESS; }
status_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared) { return *blocks = 8, SUCCESS; }
status_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size, size_t shared, unsigned flags) {
  return *blocks = 8, SUCCESS;
}

/* ---- the driver: torch looks these up, in this library by its SONAME libcuda.so.1 */

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
int cuGetErrorString(int error, const char **text) { return *text = cudaGetErrorString(error), 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  *flags = 0, *active = device >= 0 && device < DEVICES && has_context[device];
  return 0;
}
static int not_supported(void) { return NOT_SUPPORTED; }
static status_t driver_function(const char *name, void **function, int *result) {
  *function = strcmp(name, "cuDevicePrimaryCtxGetState") ? (void *)not_supported : (void *)cuDevicePrimaryCtxGetState;
  if (result) *result = 0;
  return SUCCESS;
}
status_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *result) { return driver_function(name, function, result); }
status_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags, int *result) {
  return driver_function(name, function, result);
}
