// A warp for each row; its values come from the cache after the first time.

KERNEL layer_norm_forward(const float *restrict x, const float *restrict gamma, const float *restrict beta,
                          float *restrict y, float *restrict mean, float *restrict rstd, i64 rows, int features,
                          float eps) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = x + row * features;
        float sum = 0.0f, squares = 0.0f;
        for (int i = lane; i < features; i += 32) sum += own[i];
        float centre = warp_sum(sum) / (float)features;
        for (int i = lane; i < features; i += 32) squares += (own[i] - centre) * (own[i] - centre);
        float factor = 1.0f / sqrtf(warp_sum(squares) / (float)features + eps);
        for (int i = lane; i < features; i += 32)
            y[row * features + i] = (own[i] - centre) * factor * gamma[i] + beta[i];
        if (lane == 0) mean[row] = centre, rstd[row] = factor;
    }
}

KERNEL layer_norm_backward_x(const float *restrict x, const float *restrict gamma, const float *restrict mean,
                             const float *restrict rstd, const float *restrict dy, float *restrict dx, i64 rows,
                             int features, int adds) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = x + row * features, *slope = dy + row * features;
        float *result = dx + row * features;
        float centre = mean[row], factor = rstd[row], sum = 0.0f, product = 0.0f;
        for (int i = lane; i < features; i += 32) {
            float scaled = slope[i] * gamma[i];
            sum += scaled;
            product += scaled * (own[i] - centre) * factor;
        }
        sum = warp_sum(sum) / (float)features;
        product = warp_sum(product) / (float)features;
        for (int i = lane; i < features; i += 32)
            WRITE(adds, result[i], factor * (slope[i] * gamma[i] - sum - (own[i] - centre) * factor * product));
    }
}

// Sums over rows, of `dy` or with `x` of `dy` times the normalised values: a block for 32 columns and a group of rows,
// eight rows at a time. One group writes the gradient by itself; several leave partial sums. RMS norm has no `mean`.
KERNEL layer_norm_columns(const float *restrict x, const float *restrict mean, const float *restrict rstd,
                          const float *restrict dy, float *restrict partials, float *restrict grad, i64 rows,
                          i64 group_rows, int features, int adds) {
    SHARED(float, scratch, [256]);
    int column = blockIdx.x * 32 + threadIdx.x % 32;
    i64 first = blockIdx.y * group_rows;
    i64 last = first + group_rows < rows ? first + group_rows : rows;
    float sum = 0.0f;
    if (column < features)
        for (i64 row = first + threadIdx.x / 32; row < last; row += 8) {
            i64 i = row * features + column;
            sum += x ? dy[i] * (mean ? x[i] - mean[row] : x[i]) * rstd[row] : dy[i];
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
