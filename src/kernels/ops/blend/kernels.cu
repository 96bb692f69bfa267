KERNEL blend_forward(const float *restrict x, float a, const float *restrict z, float b, float *restrict y, i64 n) {
    FOR_EACH(i, n) y[i] = a * x[i] + b * z[i];
}

// Sum of `(x - z)^2` per block; differences in f32, squares and sums in f64, as on the CPU.
KERNEL blend_distance(const float *restrict x, const float *restrict z, double *restrict partials, i64 n) {
    SHARED(double, scratch, [32]);
    double sum = 0.0;
    FOR_EACH(i, n) {
        double difference = (double)(x[i] - z[i]);
        sum += difference * difference;
    }
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
