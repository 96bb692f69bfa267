// Kernels that only tests launch: what the stand-in has to find out.

KERNEL test_block_sum(const float *restrict values, float *restrict sums, i64 n) {
    SHARED float room[32];
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? values[i] : 0.0f, room);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Every thread reads its neighbour's value; with `waits` after the neighbour has written it.
KERNEL test_neighbour(float *restrict result, int waits) {
    SHARED float room[64];
    room[threadIdx.x] = -1.0f;
    block_wait();
    room[threadIdx.x] = (float)threadIdx.x;
    if (waits) block_wait();
    result[threadIdx.x] = room[threadIdx.x ^ 1];
}

// Half of the threads wait for the others, which never come.
KERNEL test_hang(float *restrict result) {
    if (threadIdx.x % 2 == 0) warp_wait();
    else block_wait();
    result[threadIdx.x] = 1.0f;
}
