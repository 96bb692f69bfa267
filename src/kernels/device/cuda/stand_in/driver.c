// CUDA's driver API in host memory, for tests on machines without a GPU. Kernels run when they are launched; as with a
// GPU's driver, the failure of a kernel is returned by all later calls (here: by those of the same host thread).
//
// Stricter than a driver: requests for zero bytes are errors. Environment variables:
// FIELDTRIAL_STAND_IN_MEMORY   memory of the device in bytes (1 GiB unless set)
// FIELDTRIAL_STAND_IN_DRIVER   version of CUDA that the driver supports, 1000 * major + 10 * minor (13000 unless set);
//                              below 13000 it refuses to load the kernels, as if a compiler of CUDA 13 had built them
// FIELDTRIAL_STAND_IN_EXIT     `hangs`: exit() does not return while a device is open, as can happen with a driver
//                              that is unloaded while a thread is inside it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, UNFIT_CODE = 222, NOT_FOUND = 500 };
enum { TOO_MANY_REGISTERS = 701, LAUNCH_FAILED = 719 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u64 held, most_held;
static int open_contexts;

// Error code of the first kernel that failed on this thread, which every later call returns; 0 if none failed.
static __thread int failed;

// Numbers of kernels, fills, copies and calls that set the context, of this thread.
static __thread u64 done[4];
enum { KERNELS, FILLS, COPIES, SWITCHES };
int stand_in_done(u64 *counts) { return memcpy(counts, done, sizeof done), OK; }

__attribute__((destructor)) static void unload(void) {
    const char *text = getenv("FIELDTRIAL_STAND_IN_EXIT");
    while (open_contexts && text && !strcmp(text, "hangs")) pause();
}

static int version(void) {
    const char *text = getenv("FIELDTRIAL_STAND_IN_DRIVER");
    return text ? atoi(text) : 13000;
}

static u64 capacity(void) {
    const char *text = getenv("FIELDTRIAL_STAND_IN_MEMORY");
    return text ? strtoull(text, 0, 10) : 1ull << 30;
}

// Allocates device memory; its size is stored in front of it, so that freeing it can reduce `held`.
static int allocate(u64 *address, size_t bytes) {
    if (failed) return failed;
    if (!bytes) return INVALID;
    pthread_mutex_lock(&lock);
    int fits = held + bytes <= capacity();
    if (fits) held += bytes;
    if (held > most_held) most_held = held;
    pthread_mutex_unlock(&lock);
    if (!fits) return OUT_OF_MEMORY;
    unsigned char *block = malloc(bytes + 64);
    memset(block, 0xff, bytes + 64);
    memcpy(block, &bytes, sizeof bytes);
    *address = (u64)(uintptr_t)(block + 64);
    return OK;
}

static int release_memory(u64 address) {
    if (!address) return OK;
    unsigned char *block = (unsigned char *)(uintptr_t)address - 64;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    pthread_mutex_lock(&lock);
    held -= bytes;
    pthread_mutex_unlock(&lock);
    free(block);
    return failed;
}

int cuInit(u32 flags) { return (void)flags, OK; }
int cuDriverGetVersion(int *number) { return *number = version(), OK; }
int cuGetErrorString(int code, const char **text) { return (void)code, *text = "an error of the stand-in", OK; }
int cuGetErrorName(int code, const char **text) {
    switch (code) {
    case INVALID: return *text = "CUDA_ERROR_INVALID_VALUE", OK;
    case UNFIT_CODE: return *text = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", OK;
    case TOO_MANY_REGISTERS: return *text = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", OK;
    case LAUNCH_FAILED: return *text = "CUDA_ERROR_LAUNCH_FAILED", OK;
    default: return *text = "STAND_IN", OK;
    }
}
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGetName(char *name, int length, int device) {
    return (void)device, snprintf(name, length, "stand-in on the CPU (no GPU)"), OK;
}
int cuDeviceGetPCIBusId(char *text, int length, int device) {
    return snprintf(text, length, "0000:%02x:00.0", 0x18 + device), OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = capacity(), OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 75: return *value = 9, OK;  // major version of the compute capability
    case 76: return *value = 0, OK;  // its minor version
    case 115: return *value = 1, OK; // memory pools
    case 16: return *value = 4, OK;  // multiprocessors
    case 97: return *value = 227 << 10, OK; // shared memory a block may ask for
    case 13: return *value = 1000000, OK; // clock in kHz
    default: return *value = 0, OK;
    }
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    __atomic_add_fetch(&open_contexts, 1, __ATOMIC_SEQ_CST);
    return (void)device, *context = (void *)&held, failed;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    __atomic_sub_fetch(&open_contexts, 1, __ATOMIC_SEQ_CST);
    return (void)device, failed;
}
int cuCtxSetCurrent(void *context) { return (void)context, done[SWITCHES]++, failed; }
int cuCtxSynchronize(void) { return failed; }

int cuEventCreate(void **event, u32 flags) { return (void)flags, *event = calloc(1, sizeof(struct timespec)), failed; }
int cuEventRecord(void *event, void *stream) { return (void)stream, clock_gettime(CLOCK_MONOTONIC, event), failed; }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
    const struct timespec *a = from, *b = to;
    if (!a->tv_sec || !b->tv_sec) return INVALID;
    return *milliseconds = 1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec), failed;
}
int cuEventSynchronize(void *event) { return (void)event, failed; }
int cuEventQuery(void *event) { return (void)event, failed; }
int cuEventDestroy_v2(void *event) { return free(event), failed; }
int cuStreamCreate(void **stream, u32 flags) { return (void)flags, *stream = malloc(1), failed; }
int cuStreamDestroy_v2(void *stream) { return free(stream), failed; }
int cuStreamSynchronize(void *stream) { return (void)stream, failed; }
int cuStreamWaitEvent(void *stream, void *event, u32 flags) { return (void)stream, (void)event, (void)flags, failed; }

int cuMemAlloc_v2(u64 *address, size_t bytes) { return allocate(address, bytes); }
int cuMemAllocAsync(u64 *address, size_t bytes, void *stream) { return (void)stream, allocate(address, bytes); }
int cuMemFree_v2(u64 address) { return release_memory(address); }
int cuMemFreeAsync(u64 address, void *stream) { return (void)stream, release_memory(address); }
int cuMemHostAlloc(void **pointer, size_t bytes, u32 flags) { return (void)flags, *pointer = malloc(bytes), failed; }
int cuMemFreeHost(void *pointer) { return free(pointer), failed; }
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    return *total = capacity(), *free_bytes = *total - held, failed;
}
int cuDeviceGetDefaultMemPool(void **pool, int device) { return (void)device, *pool = (void *)&held, OK; }
// Attribute 8 is the peak of used bytes since it was last set to 0.
int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
    pthread_mutex_lock(&lock);
    if (attribute == 8 && !*(u64 *)value) most_held = held;
    pthread_mutex_unlock(&lock);
    return (void)pool, OK;
}
int cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
    return (void)pool, *(u64 *)value = attribute == 8 ? most_held : held, OK;
}
int cuMemPoolTrimTo(void *pool, size_t bytes) { return (void)pool, (void)bytes, OK; }

static int copy(void *to, const void *from, size_t bytes) {
    if (failed) return failed;
    done[COPIES]++;
    return bytes ? (memmove(to, from, bytes), OK) : INVALID;
}
static int fill(void *values, unsigned char value, size_t bytes) {
    if (failed) return failed;
    done[FILLS]++;
    return bytes ? (memset(values, value, bytes), OK) : INVALID;
}
#define HOST(address) ((void *)(uintptr_t)(address))
int cuMemcpyDtoD_v2(u64 to, u64 from, size_t bytes) { return copy(HOST(to), HOST(from), bytes); }
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void *stream) {
    return (void)stream, copy(HOST(to), HOST(from), bytes);
}
int cuMemcpyDtoH_v2(void *to, u64 from, size_t bytes) { return copy(to, HOST(from), bytes); }
int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, void *stream) {
    return (void)stream, copy(to, HOST(from), bytes);
}
int cuMemcpyHtoD_v2(u64 to, const void *from, size_t bytes) { return copy(HOST(to), from, bytes); }
int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, void *stream) {
    return (void)stream, copy(HOST(to), from, bytes);
}
int cuMemsetD8_v2(u64 address, unsigned char value, size_t bytes) { return fill(HOST(address), value, bytes); }
int cuMemsetD8Async(u64 address, unsigned char value, size_t bytes, void *stream) {
    return (void)stream, fill(HOST(address), value, bytes);
}

// A driver reads the image's header of 64-bit numbers in place, so the image must be aligned.
int cuModuleLoadData(void **module, const void *image) {
    if (version() < 13000) return UNFIT_CODE;
    if ((uintptr_t)image % 64) return INVALID;
    return *module = (void *)&held, failed;
}
int cuModuleUnload(void *module) { return (void)module, failed; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name)) return *function = (void *)&kernels[i], failed;
    return NOT_FOUND;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    stand_in_kernel *kernel = function;
    if (attribute != 8) return INVALID;
    if (value > SHARED_MOST) return INVALID;
    // Host threads share the kernel, so a larger request of another thread must not be reduced.
    if ((u32)value > kernel->asked_bytes) kernel->asked_bytes = value;
    return failed;
}

static const char *message(int wrong) {
    switch (wrong) {
    case WAITS_IN_VAIN: return "threads wait for each other in vain";
    case SHUFFLES_WITHOUT_ALL: return "a shuffle of a warp of which lanes have ended or are missing";
    default: return "static and dynamic arrays need more shared memory than the launch may have";
    }
}

int cuLaunchKernel(void *function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void *stream,
                   void **arguments, void **extra) {
    (void)stream, (void)extra;
    const stand_in_kernel *kernel = function;
    if (failed) return failed;
    done[KERNELS]++;
    u64 threads = (u64)bx * by * bz;
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !threads || threads > MOST) return INVALID;
    if (!may_share(shared, shared, kernel->asked_bytes)) return INVALID;
    // A kernel without `BLOCK_OF` may have 255 registers per thread, and a multiprocessor has 65,536.
    if (threads > kernel->most_threads) return TOO_MANY_REGISTERS;
    dim grid = {gx, gy, gz}, block = {bx, by, bz};
    int wrong = run_grid(kernel->call, kernel->waits, grid, block, shared, kernel->asked_bytes, arguments);
    if (!wrong) return OK;
    fprintf(stderr, "stand-in: `%s`: %s\n", kernel->name, message(wrong));
    if (wrong == SHARES_TOO_MUCH) return INVALID;
    return failed = LAUNCH_FAILED, OK;
}
