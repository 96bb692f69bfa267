// Updates of parameters. Products are rounded before they are added, as the CPU does it: with the same gradients the weights
// have the CPU's bits, and one tensor at a time gives the same as all at once. Memory is what these kernels wait for.

#ifdef __CUDACC__
DEVICE float update_times(float a, float b) { return __fmul_rn(a, b); }
DEVICE double update_times_double(double a, double b) { return __dmul_rn(a, b); }
#else
DEVICE float update_times(float a, float b) { return a * b; }
DEVICE double update_times_double(double a, double b) { return a * b; }
#endif

// PyTorch's `lerp`: from the nearer end, so that `weight = 1` gives `y` exactly.
DEVICE float update_between(float x, float y, float weight) {
    return weight < 0.5f ? x + update_times(weight, y - x) : y - update_times(y - x, 1.0f - weight);
}

// One value of Adam; see `Factors` for what the numbers are.
DEVICE void update_adam_value(float *p, float g, float *m, float *v, float keep, float towards, float beta2,
                              float one_minus_beta2, float correction2, float eps, float size) {
    float mean = update_between(*m, g, towards);
    float square = update_times(*v, beta2) + update_times(update_times(one_minus_beta2, g), g);
    float root = sqrtf(square) / correction2 + eps;
    *m = mean;
    *v = square;
    *p = update_times(*p, keep) + update_times(size, mean) / root;
}

// One value of SGD; `b` is null without momentum.
DEVICE void update_sgd_value(float *p, float g, float *b, float lr, float decay, float momentum, int nesterov) {
    float own = *p;
    g = g + update_times(decay, own);
    if (b) {
        float sum = update_times(momentum, *b) + g;
        *b = sum;
        g = nesterov ? g + update_times(momentum, sum) : sum;
    }
    *p = own - update_times(lr, g);
}

KERNEL update_scale(float *x, float factor, i64 n) {
    FOR_EACH(i, n) x[i] *= factor;
}

KERNEL update_add_scaled(float *restrict x, const float *restrict y, float factor, i64 n) {
    FOR_EACH(i, n) x[i] += update_times(factor, y[i]);
}

KERNEL update_lerp(float *restrict x, const float *restrict y, float weight, i64 n) {
    FOR_EACH(i, n) x[i] = update_between(x[i], y[i], weight);
}

KERNEL update_adam(float *restrict p, const float *restrict g, float *restrict m, float *restrict v, float keep,
                   float towards, float beta2, float one_minus_beta2, float correction2, float eps, float size, i64 n) {
    FOR_EACH(i, n) {
        update_adam_value(p + i, g[i], m + i, v + i, keep, towards, beta2, one_minus_beta2, correction2, eps, size);
    }
}

KERNEL update_sgd(float *restrict p, const float *restrict g, float *restrict b, float lr, float decay, float momentum,
                  int nesterov, i64 n) {
    FOR_EACH(i, n) update_sgd_value(p + i, g[i], b ? b + i : 0, lr, decay, momentum, nesterov);
}

// Of `x[start .. start + n]`, by all threads of a block.
DEVICE double update_squares_of(const float *restrict x, i64 n, double *room) {
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, n) sum += update_times_double((double)x[i], (double)x[i]);
    return block_sum_double(sum, room);
}

// One sum for every block, which takes `chunk` values.
KERNEL update_squares(const float *restrict x, i64 n, i64 chunk, double *restrict sums) {
    SHARED double room[32];
    i64 start = blockIdx.x * chunk;
    i64 own = n - start < chunk ? n - start : chunk;
    double sum = update_squares_of(x + start, own, room);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The sum of all sums, on one block.
KERNEL update_total(const double *restrict sums, i64 n, double *restrict total) {
    SHARED double room[32];
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, n) sum += sums[i];
    sum = block_sum_double(sum, room);
    if (threadIdx.x == 0) total[0] = sum;
}
