// What a C compiler needs to read kernels in the dialect: CUDA's words, on one thread of the CPU.
//
// The threads of a block run one after another up to a point at which they wait for each other (`grid.c`).
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    u32 x, y, z;
} dim;

extern __thread dim threadIdx, blockIdx, blockDim, gridDim;
extern __thread unsigned char *stand_in_shared;
extern __thread u64 stand_in_block;

typedef _Float16 half_t;
#define KERNEL void
#define BLOCK_OF(threads)
#define DEVICE static inline
// Blocks run one after another, so one place a thread of the host is enough. The first thread of a block that comes to the
// declaration fills it: nobody can rely on zeros, or on what the block before has left.
#define SHARED(type, name, sizes)                                                                                      \
    static __thread type name sizes;                                                                                   \
    static __thread u64 name##_block;                                                                                  \
    if (name##_block != stand_in_block) {                                                                              \
        name##_block = stand_in_block;                                                                                 \
        stand_in_share(name, sizeof name);                                                                             \
    }
#define SHARED_DYNAMIC(type, name) type *name = (type *)stand_in_shared

void stand_in_share(void *array, size_t bytes);
void stand_in_wait_block(void);
void stand_in_wait_warp(void);
float stand_in_warp_xor(float value, int lane);
double stand_in_warp_xor_double(double value, int lane);

#define block_wait() stand_in_wait_block()
#define warp_wait() stand_in_wait_warp()

DEVICE float warp_xor(float value, int lane) { return stand_in_warp_xor(value, lane); }
DEVICE double warp_xor_double(double value, int lane) { return stand_in_warp_xor_double(value, lane); }

DEVICE float half_to_float(half_t value) { return (float)value; }
DEVICE half_t float_to_half(float value) { return (half_t)value; }

DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
DEVICE int min(int a, int b) { return a < b ? a : b; }
DEVICE int max(int a, int b) { return a > b ? a : b; }
