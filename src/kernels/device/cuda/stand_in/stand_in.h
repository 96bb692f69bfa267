// CUDA's keywords, variables and functions that the dialect uses, defined for a C compiler, for one thread of the CPU.
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

// Hidden symbols: one that another library could override would cost a call at every access.
#pragma GCC visibility push(hidden)

extern __thread dim threadIdx, blockIdx, blockDim, gridDim;
extern __thread unsigned char *stand_in_shared;
extern __thread u64 stand_in_block;

#define KERNEL void
#define BLOCK_OF(threads)
#define DEVICE static inline
// Blocks run one after another, so one array per host thread is enough. The first thread of a block that reaches the
// declaration fills the array with NaN: no kernel can rely on zeros, or on what the previous block left.
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

#pragma GCC visibility pop

#define block_wait() stand_in_wait_block()
#define warp_wait() stand_in_wait_warp()

DEVICE float warp_xor(float value, int lane) { return stand_in_warp_xor(value, lane); }
DEVICE double warp_xor_double(double value, int lane) { return stand_in_warp_xor_double(value, lane); }

DEVICE u32 bits_of(float value) {
    u32 bits;
    return memcpy(&bits, &value, sizeof bits), bits;
}
DEVICE float float_of(u32 bits) {
    float value;
    return memcpy(&value, &bits, sizeof value), value;
}
DEVICE float f16_to_float(half_t bits) {
    _Float16 value;
    return memcpy(&value, &bits, sizeof value), (float)value;
}
DEVICE half_t float_to_f16(float value) {
    _Float16 rounded = (_Float16)value;
    half_t bits;
    return memcpy(&bits, &rounded, sizeof bits), bits;
}

DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
DEVICE int min(int a, int b) { return a < b ? a : b; }
DEVICE int max(int a, int b) { return a > b ? a : b; }
