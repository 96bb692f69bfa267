// The driver's interface over memory of the host, for tests on machines without a GPU. Everything is done when a call
// returns. `FIELDTRIAL_STAND_IN_MEMORY` sets how many bytes the device has (1 GiB unless set).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u64 held, most_held;

static u64 capacity(void) {
    const char *text = getenv("FIELDTRIAL_STAND_IN_MEMORY");
    return text ? strtoull(text, 0, 10) : 1ull << 30;
}

// Blocks carry their size in front, so that what is held is known; a block of no bytes has an address too.
static int allocate(u64 *address, size_t bytes) {
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
    return OK;
}

int cuInit(u32 flags) { return (void)flags, OK; }
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuGetErrorString(int code, const char **text) { return (void)code, *text = "an error of the stand-in", OK; }
int cuGetErrorName(int code, const char **text) { return (void)code, *text = "STAND_IN", OK; }
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
int cuDevicePrimaryCtxRetain(void **context, int device) { return (void)device, *context = (void *)&held, OK; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, OK; }
int cuCtxSetCurrent(void *context) { return (void)context, OK; }
int cuCtxSynchronize(void) { return OK; }

int cuEventCreate(void **event, u32 flags) { return (void)flags, *event = calloc(1, sizeof(struct timespec)), OK; }
int cuEventRecord(void *event, void *stream) { return (void)stream, clock_gettime(CLOCK_MONOTONIC, event), OK; }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
    const struct timespec *a = from, *b = to;
    if (!a->tv_sec || !b->tv_sec) return INVALID;
    return *milliseconds = 1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec), OK;
}
int cuEventSynchronize(void *event) { return (void)event, OK; }
int cuEventQuery(void *event) { return (void)event, OK; }
int cuEventDestroy_v2(void *event) { return free(event), OK; }
int cuStreamCreate(void **stream, u32 flags) { return (void)flags, *stream = malloc(1), OK; }
int cuStreamDestroy_v2(void *stream) { return free(stream), OK; }
int cuStreamSynchronize(void *stream) { return (void)stream, OK; }
int cuStreamWaitEvent(void *stream, void *event, u32 flags) { return (void)stream, (void)event, (void)flags, OK; }

int cuMemAlloc_v2(u64 *address, size_t bytes) { return bytes ? allocate(address, bytes) : INVALID; }
int cuMemAllocAsync(u64 *address, size_t bytes, void *stream) { return (void)stream, allocate(address, bytes); }
int cuMemFree_v2(u64 address) { return release_memory(address); }
int cuMemFreeAsync(u64 address, void *stream) { return (void)stream, release_memory(address); }
int cuMemHostAlloc(void **pointer, size_t bytes, u32 flags) { return (void)flags, *pointer = malloc(bytes), OK; }
int cuMemFreeHost(void *pointer) { return free(pointer), OK; }
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    return *total = capacity(), *free_bytes = *total - held, OK;
}
int cuDeviceGetDefaultMemPool(void **pool, int device) { return (void)device, *pool = (void *)&held, OK; }
// 8 is the most that was used since it was set to 0.
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

static int copy(void *to, const void *from, size_t bytes) { return memmove(to, from, bytes), OK; }
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
int cuMemsetD8_v2(u64 address, unsigned char value, size_t bytes) { return memset(HOST(address), value, bytes), OK; }
int cuMemsetD8Async(u64 address, unsigned char value, size_t bytes, void *stream) {
    return (void)stream, memset(HOST(address), value, bytes), OK;
}

int cuModuleLoadData(void **module, const void *image) { return (void)image, *module = (void *)&held, OK; }
int cuModuleUnload(void *module) { return (void)module, OK; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name)) return *function = (void *)&kernels[i], OK;
    return NOT_FOUND;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    return (void)function, (void)attribute, (void)value, OK;
}
int cuLaunchKernel(void *function, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void *stream,
                   void **arguments, void **extra) {
    (void)stream, (void)extra;
    const stand_in_kernel *kernel = function;
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !bx || (u64)bx * by * bz > MOST || shared > 227u << 10)
        return INVALID;
    dim grid = {gx, gy, gz}, block = {bx, by, bz};
    if (!run_grid(kernel->call, kernel->waits, grid, block, shared, arguments)) return OK;
    fprintf(stderr, "stand-in: threads of `%s` wait for each other in vain\n", kernel->name);
    return LAUNCH_FAILED;
}
