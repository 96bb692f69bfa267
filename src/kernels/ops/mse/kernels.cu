// Squares of differences, a sum for each block; the differences in f32 and their squares in f64, as on the CPU.
KERNEL mse_forward(const float *restrict x, const float *restrict target, double *restrict partials, i64 n) {
    SHARED(double, scratch, [32]);
    double sum = 0.0;
    FOR_EACH(i, n) {
        double difference = (double)(x[i] - target[i]);
        sum += difference * difference;
    }
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

KERNEL mse_backward(const float *restrict x, const float *restrict target, const float *restrict dy,
                    float *restrict dx, i64 n, int adds) {
    float scale = 2.0f * dy[0] / (float)n;
    FOR_EACH(i, n) WRITE(adds, dx[i], scale * (x[i] - target[i]));
}
