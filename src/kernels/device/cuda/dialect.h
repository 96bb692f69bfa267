// The dialect of C that all kernels are written in: C with CUDA's extensions. nvcc compiles it for GPUs; for tests, a C
// compiler compiles it for the CPU, where `stand_in/` emulates the grid. So kernels use no templates or references
// (C++), and of CUDA's functions for warps and blocks only those defined below.
//
// All kernels are compiled as one translation unit, so the names of functions begin with the name of their operation.
#pragma once

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
// The bits of a 16-bit number: an f16, or a bf16 where a kernel says so.
typedef unsigned short half_t;

#ifdef __CUDACC__

#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
// `KERNEL BLOCK_OF(n)`: a kernel for blocks of up to n threads. The compiler limits the registers per thread so that
// such a block fits, also in PTX for later GPUs. Without it a block has up to 256 threads, for which any number of
// registers fits.
#define BLOCK_OF(threads) __launch_bounds__(threads)
#define DEVICE static __device__ __forceinline__
// An array in shared memory: `SHARED(float, scratch, [32])`. Its initial values are arbitrary.
#define SHARED(type, name, sizes) __shared__ type name sizes
// An array in shared memory whose size is given at launch (`Launch::shared`).
#define SHARED_DYNAMIC(type, name)                                                                                     \
    extern __shared__ __align__(16) unsigned char shared_dynamic_[];                                                   \
    type *name = (type *)shared_dynamic_
#define restrict __restrict__
// Placed before a loop that the compiler must not unroll: a loop that reads ahead would only need more registers.
#define ROLLED _Pragma("unroll 1")

DEVICE u32 bits_of(float value) { return __float_as_uint(value); }
DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }
DEVICE float f16_to_float(half_t bits) { return __half2float(__ushort_as_half(bits)); }
DEVICE half_t float_to_f16(float value) { return __half_as_ushort(__float2half_rn(value)); }

DEVICE float warp_xor(float value, int lane) { return __shfl_xor_sync(0xffffffffu, value, lane); }
DEVICE double warp_xor_double(double value, int lane) { return __shfl_xor_sync(0xffffffffu, value, lane); }
#define block_wait() __syncthreads()
#define warp_wait() __syncwarp()

#else

#include "stand_in.h"
#define ROLLED

#endif

// Converts 16 bits to f32. A bf16 is the upper half of an f32.
DEVICE float half_to_float(half_t bits, int is_bf16) {
    return is_bf16 ? float_of((u32)bits << 16) : f16_to_float(bits);
}

// Rounds an f32 to 16 bits: to nearest, ties to even.
DEVICE half_t float_to_half(float value, int is_bf16) {
    if (!is_bf16) return float_to_f16(value);
    u32 bits = bits_of(value);
    // NaN is handled separately, because rounding its bits could give infinity.
    if (value != value) return (half_t)(bits >> 16 | 0x40u);
    return (half_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Value i of an array that is stored in 16 bits (`half`) or, if `half` is null, in f32 (`values`).
DEVICE float value_at(const float *values, const half_t *half, i64 i, int is_bf16) {
    return half ? half_to_float(half[i], is_bf16) : values[i];
}

// Loop over all indices below `n`, each handled by one thread of the grid.
#define FOR_EACH(i, n)                                                                                                 \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (i64)gridDim.x * blockDim.x)

// As FOR_EACH, but a thread handles up to TILE indices per turn: `start + j * blockDim.x` for j < TILE, where below
// `n`. It reads all their values before it writes, so that enough reads are in flight to use a GPU's memory bandwidth
// (`Launch::over_tiles`).
#define TILE 4
#define FOR_EACH_TILE(start, n)                                                                                        \
    for (i64 start = (i64)blockIdx.x * blockDim.x * TILE + threadIdx.x; start < (n);                                   \
         start += (i64)gridDim.x * blockDim.x * TILE)

// Adds `value` to `place` or replaces `place`, without reading the old content in the second case: it may be NaN.
#define WRITE(adds, place, value) (place) = (adds) ? (place) + (value) : (value)

// Loop over all indices below `n`, each handled by one thread of the block.
#define FOR_EACH_IN_BLOCK(i, n) for (i64 i = threadIdx.x; i < (n); i += blockDim.x)

// `index % size` and `index / size`, in 32 bits if `index` fits, since 64-bit division is slow on a GPU.
DEVICE u32 remainder_of(i64 index, u32 size) { return index >> 32 ? (u32)(index % size) : (u32)index % size; }

DEVICE i64 quotient_of(i64 index, u32 size) { return index >> 32 ? index / size : (i64)((u32)index / size); }

// Sums and maxima over a warp by butterfly exchange: every lane gets the result, and the order of additions is fixed.
DEVICE float warp_sum(float value) {
    for (int lane = 16; lane > 0; lane /= 2) value += warp_xor(value, lane);
    return value;
}

DEVICE double warp_sum_double(double value) {
    for (int lane = 16; lane > 0; lane /= 2) value += warp_xor_double(value, lane);
    return value;
}

DEVICE float warp_max(float value) {
    for (int lane = 16; lane > 0; lane /= 2) value = fmaxf(value, warp_xor(value, lane));
    return value;
}

// Sums and maxima over a block, whose number of threads must be a multiple of 32 and at most 1024. Every thread must
// call the function, and every thread gets the result. `scratch` is shared memory of 32 values, free again at return.
DEVICE float block_sum(float value, float *scratch) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    block_wait();
    float sum = 0.0f;
    for (u32 warp = 0; warp < blockDim.x / 32; warp++) sum += scratch[warp];
    block_wait();
    return sum;
}

DEVICE double block_sum_double(double value, double *scratch) {
    value = warp_sum_double(value);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    block_wait();
    double sum = 0.0;
    for (u32 warp = 0; warp < blockDim.x / 32; warp++) sum += scratch[warp];
    block_wait();
    return sum;
}

DEVICE float block_max(float value, float *scratch) {
    value = warp_max(value);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    block_wait();
    float most = scratch[0];
    for (u32 warp = 1; warp < blockDim.x / 32; warp++) most = fmaxf(most, scratch[warp]);
    block_wait();
    return most;
}

// Numbers of the activations of `ops::Activation`, in the order of that enum.
enum { IDENTITY = 0, SILU = 1, RELU = 2, TANH = 3, GELU = 4, SIGMOID = 5, LEAKY_RELU = 6, SOFTPLUS = 7 };

DEVICE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

DEVICE float activate(int activation, float x) {
    switch (activation) {
    case SILU: return x * sigmoid(x);
    // Not `fmaxf`, which would turn NaN into 0.
    case RELU: return x <= 0.0f ? 0.0f : x;
    case TANH: return tanhf(x);
    case GELU: return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
    case SIGMOID: return sigmoid(x);
    case LEAKY_RELU: return x > 0.0f ? x : 0.01f * x;
    case SOFTPLUS: return x > 20.0f ? x : log1pf(expf(x));
    default: return x;
    }
}

// The derivative of the activation at its input `x`.
DEVICE float activate_slope(int activation, float x) {
    switch (activation) {
    case SILU: {
        float s = sigmoid(x);
        return s * (1.0f + x * (1.0f - s));
    }
    case RELU: return x <= 0.0f ? 0.0f : 1.0f;
    case TANH: {
        float t = tanhf(x);
        return 1.0f - t * t;
    }
    case GELU:
        return 0.5f * (1.0f + erff(x * 0.70710678118654752f)) + x * 0.39894228040143268f * expf(-0.5f * x * x);
    case SIGMOID: {
        float s = sigmoid(x);
        return s * (1.0f - s);
    }
    case LEAKY_RELU: return x > 0.0f ? 1.0f : 0.01f;
    case SOFTPLUS: return sigmoid(x);
    default: return 1.0f;
    }
}
