// One warp per row; after the first read a row's values come from the cache. In forward, x is also written to `half` in
// 16 bits unless that is null; backward reads x from `half` if it is not null.

KERNEL layer_norm_forward(const float *restrict x, const float *restrict gamma, const float *restrict beta,
                          half_t *restrict half, float *restrict y, float *restrict mean, float *restrict rstd,
                          i64 rows, int features, float eps, int is_bf16) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = x + row * features;
        float sum = 0.0f, squares = 0.0f;
        for (int i = lane; i < features; i += 32) sum += own[i];
        float centre = warp_sum(sum) / (float)features;
        for (int i = lane; i < features; i += 32) squares += (own[i] - centre) * (own[i] - centre);
        float factor = 1.0f / sqrtf(warp_sum(squares) / (float)features + eps);
        for (int i = lane; i < features; i += 32) {
            y[row * features + i] = (own[i] - centre) * factor * gamma[i] + beta[i];
            if (half) half[row * features + i] = float_to_half(own[i], is_bf16);
        }
        if (lane == 0) mean[row] = centre, rstd[row] = factor;
    }
}

KERNEL layer_norm_backward_x(const float *restrict x, const half_t *restrict half, const float *restrict gamma,
                             const float *restrict mean, const float *restrict rstd, const float *restrict dy,
                             float *restrict dx, i64 rows, int features, int adds, int is_bf16) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *slope = dy + row * features;
        i64 first = row * features;
        float *result = dx + row * features;
        float centre = mean[row], factor = rstd[row], sum = 0.0f, product = 0.0f;
        for (int i = lane; i < features; i += 32) {
            float scaled = slope[i] * gamma[i];
            sum += scaled;
            product += scaled * (value_at(x, half, first + i, is_bf16) - centre) * factor;
        }
        sum = warp_sum(sum) / (float)features;
        product = warp_sum(product) / (float)features;
        for (int i = lane; i < features; i += 32) {
            float along = (value_at(x, half, first + i, is_bf16) - centre) * factor;
            WRITE(adds, result[i], factor * (slope[i] * gamma[i] - sum - along * product));
        }
    }
}

// Sums over rows of `dy` or, if `x` or `half` is given, of `dy` times the normalised values. A block sums 32 columns of
// a group of rows, eight rows at a time. A single group writes the gradient itself; several groups write partial sums.
// For RMS norm `mean` is null.
KERNEL layer_norm_columns(const float *restrict x, const half_t *restrict half, const float *restrict mean,
                          const float *restrict rstd, const float *restrict dy, float *restrict partials,
                          float *restrict grad, i64 rows, i64 group_rows, int features, int adds, int is_bf16) {
    SHARED(float, scratch, [256]);
    int column = blockIdx.x * 32 + threadIdx.x % 32;
    i64 first = blockIdx.y * group_rows;
    i64 last = first + group_rows < rows ? first + group_rows : rows;
    float sum = 0.0f;
    if (column < features)
        for (i64 row = first + threadIdx.x / 32; row < last; row += 8) {
            i64 i = row * features + column;
            if (x || half) {
                float value = value_at(x, half, i, is_bf16);
                sum += dy[i] * (mean ? value - mean[row] : value) * rstd[row];
            } else {
                sum += dy[i];
            }
        }
    scratch[threadIdx.x] = sum;
    block_wait();
    if (threadIdx.x < 32 && column < features) {
        float total = 0.0f;
        for (int i = 0; i < 8; i++) total += scratch[32 * i + threadIdx.x];
        if (gridDim.y == 1) WRITE(adds, grad[column], total);
        else partials[(i64)blockIdx.y * features + column] = total;
    }
}

KERNEL layer_norm_add_groups(const float *restrict partials, float *restrict grad, i64 groups, i64 features,
                             int adds) {
    FOR_EACH(column, features) {
        float sum = 0.0f;
        for (i64 group = 0; group < groups; group++) sum += partials[group * features + column];
        WRITE(adds, grad[column], sum);
    }
}
