// Kernels that only tests launch; most have a mistake that the stand-in must detect.

KERNEL test_block_sum(const float *restrict values, float *restrict sums, i64 n) {
    SHARED(float, scratch, [32]);
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? values[i] : 0.0f, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Every thread reads its neighbour's value: after a barrier if `waits`, else in a race with the neighbour's write.
KERNEL test_neighbour(float *restrict result, int waits) {
    SHARED(float, scratch, [64]);
    scratch[threadIdx.x] = -1.0f;
    block_wait();
    scratch[threadIdx.x] = (float)threadIdx.x;
    if (waits) block_wait();
    result[threadIdx.x] = scratch[threadIdx.x ^ 1];
}

// A deadlock: half of the threads wait for their warp, the others for the block.
KERNEL test_hang(float *restrict result) {
    if (threadIdx.x % 2 == 0) warp_wait();
    else block_wait();
    result[threadIdx.x] = 1.0f;
}

// Every block writes the initial content of its shared memory, static and dynamic, to `found`, then overwrites that
// memory.
KERNEL test_leftover(float *restrict found) {
    SHARED(float, scratch, [32]);
    SHARED_DYNAMIC(float, more);
    found[2 * blockIdx.x] = scratch[0];
    found[2 * blockIdx.x + 1] = more[0];
    block_wait();
    scratch[0] = more[0] = 1.0f;
}

// Half of a warp's lanes have ended when the other half reads their values by a shuffle.
KERNEL test_shuffle_of_half(float *restrict result) {
    if (threadIdx.x >= 16) return;
    result[threadIdx.x] = warp_xor(1.0f, 16);
}

// A kernel without `BLOCK_OF`: whether a block of more than 256 threads has enough registers depends on the compiler.
KERNEL test_unbounded(float *restrict result) {
    if (threadIdx.x == 0) result[0] = 1.0f;
}

KERNEL BLOCK_OF(1024)
test_bounded(float *restrict result) {
    if (threadIdx.x == 0) result[0] = 1.0f;
}
