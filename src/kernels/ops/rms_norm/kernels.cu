// One warp per row; after the first read a row's values come from the cache. In forward, x is also written to `half` in
// 16 bits unless that is null; backward reads x from `half` if it is not null.

KERNEL rms_norm_forward(const float *restrict x, const float *restrict gamma, half_t *restrict half, float *restrict y,
                        float *restrict rstd, i64 rows, int features, float eps, int is_bf16) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = x + row * features;
        float squares = 0.0f;
        for (int i = lane; i < features; i += 32) squares += own[i] * own[i];
        float factor = 1.0f / sqrtf(warp_sum(squares) / (float)features + eps);
        for (int i = lane; i < features; i += 32) {
            y[row * features + i] = own[i] * factor * gamma[i];
            if (half) half[row * features + i] = float_to_half(own[i], is_bf16);
        }
        if (lane == 0) rstd[row] = factor;
    }
}

// Turns `grad`, the gradient of the result, into that of `x`.
KERNEL rms_norm_backward(const float *restrict x, const half_t *restrict half, const float *restrict gamma,
                         const float *restrict rstd, float *restrict grad, i64 rows, int features, int is_bf16) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        i64 first = row * features;
        float *slope = grad + first;
        float factor = rstd[row], product = 0.0f;
        for (int i = lane; i < features; i += 32)
            product += slope[i] * gamma[i] * (value_at(x, half, first + i, is_bf16) * factor);
        product = warp_sum(product) / (float)features;
        for (int i = lane; i < features; i += 32)
            slope[i] = factor * (slope[i] * gamma[i] - value_at(x, half, first + i, is_bf16) * factor * product);
    }
}
