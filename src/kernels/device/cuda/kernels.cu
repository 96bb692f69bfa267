// Kernels of the device itself, not of an operation.

KERNEL device_fill(float *values, float value, i64 n) {
    FOR_EACH(i, n) values[i] = value;
}

KERNEL device_cast_to_half(const float *restrict values, half_t *restrict half, i64 n, int is_bf16) {
    FOR_EACH(i, n) half[i] = float_to_half(values[i], is_bf16);
}

// total = factor * sum of the partial sums that the blocks of another kernel wrote. Launched with one block.
KERNEL device_total(const double *restrict partials, i64 count, double factor, float *restrict total) {
    SHARED(double, scratch, [32]);
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, count) sum += partials[i];
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) *total = (float)(sum * factor);
}

// values[i] = the first value of the array at addresses[i].
KERNEL device_gather_firsts(const u64 *addresses, float *values, i64 n) {
    FOR_EACH(i, n) values[i] = *(const float *)addresses[i];
}
