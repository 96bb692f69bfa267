// Updates of parameters. Products are rounded before they are added, as on the CPU: equal gradients give weights with
// the same bits as there, and updating one tensor at a time gives the same bits as updating all at once. The kernels
// are limited by memory bandwidth, not by arithmetic.

#ifdef __CUDACC__
DEVICE float update_times(float a, float b) { return __fmul_rn(a, b); }
DEVICE double update_times_double(double a, double b) { return __dmul_rn(a, b); }
#else
DEVICE float update_times(float a, float b) { return a * b; }
DEVICE double update_times_double(double a, double b) { return a * b; }
#endif

// PyTorch's `lerp`, `x + weight (y - x)`: computed from the nearer end, so that `weight = 1` gives `y` exactly.
DEVICE float update_between(float x, float y, float weight) {
    return weight < 0.5f ? x + update_times(weight, y - x) : y - update_times(y - x, 1.0f - weight);
}

// One step of Adam for one value. The factors are those of `Factors` in mod.rs.
DEVICE void update_adam_value(float *p, float g, float *m, float *v, float keep, float towards, float beta2,
                              float one_minus_beta2, float correction2, float eps, float size) {
    float mean = update_between(*m, g, towards);
    float square = update_times(*v, beta2) + update_times(update_times(one_minus_beta2, g), g);
    float root = sqrtf(square) / correction2 + eps;
    *m = mean;
    *v = square;
    *p = update_times(*p, keep) + update_times(size, mean) / root;
}

// One step of SGD for one value; `b` is the momentum, or null without momentum.
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

// One step of RMSprop for one value; `m` (the mean) is null unless centred, `b` (the momentum) is null without
// momentum.
DEVICE void update_rmsprop_value(float *p, float g, float *v, float *m, float *b, float size, float alpha,
                                 float one_minus_alpha, float eps, float momentum, float decay) {
    float own = *p;
    g = g + update_times(decay, own);
    float variance = update_times(*v, alpha) + update_times(update_times(one_minus_alpha, g), g);
    *v = variance;
    if (m) {
        float mean = update_between(*m, g, one_minus_alpha);
        *m = mean;
        variance = variance - update_times(mean, mean);
        variance = variance < 0.0f ? 0.0f : variance;
    }
    float root = sqrtf(variance) + eps;
    if (b) {
        float sum = update_times(*b, momentum) + g / root;
        *b = sum;
        *p = own + update_times(size, sum);
    } else {
        *p = own + update_times(size, g) / root;
    }
}

// One step of Lion for one value; the sign of 0 is 0, that of NaN is NaN.
DEVICE void update_lion_value(float *p, float g, float *m, float keep, float lr, float beta1, float one_minus_beta1,
                              float beta2, float one_minus_beta2) {
    float direction = update_times(*m, beta1) + update_times(one_minus_beta1, g);
    float sign = direction > 0.0f ? 1.0f : direction < 0.0f ? -1.0f : direction;
    *m = update_times(*m, beta2) + update_times(one_minus_beta2, g);
    *p = update_times(*p, keep) - update_times(lr, sign);
}

KERNEL update_scale(float *x, float factor, i64 n) {
    FOR_EACH(i, n) x[i] *= factor;
}

KERNEL update_add_scaled(float *restrict x, const float *restrict y, float factor, i64 n) {
    FOR_EACH(i, n) x[i] += update_times(factor, y[i]);
}

// Sum of squares of `x[0 .. n]`, by all threads of a block together.
DEVICE double update_squares_of(const float *restrict x, i64 n, double *scratch) {
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, n) sum += update_times_double((double)x[i], (double)x[i]);
    return block_sum_double(sum, scratch);
}

// Sums of squares: block i sums its `chunk` values into `sums[i]`.
KERNEL update_squares(const float *restrict x, i64 n, i64 chunk, double *restrict sums) {
    SHARED(double, scratch, [32]);
    i64 start = blockIdx.x * chunk;
    i64 own = n - start < chunk ? n - start : chunk;
    double sum = update_squares_of(x + start, own, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The sum of `n` block sums; runs in a single block.
KERNEL update_total(const double *restrict sums, i64 n, double *restrict total) {
    SHARED(double, scratch, [32]);
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, n) sum += sums[i];
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) total[0] = sum;
}

// Steps over many tensors in one launch. `table` has, in this order: for each block its tensor (upper half) and chunk
// (lower half); for each tensor its length; for each tensor its part of the model (lower half), with 1 in the upper
// half if it has no weight decay; for each slot (parameter, gradient, state …) the address of every tensor.
// `control` has the state by which a step goes on or is skipped, at these indices; all values but that of
// `UPDATE_SCALE` are 0 at first.
enum { UPDATE_LOSS = 0, UPDATE_DIVERGED = 1, UPDATE_GOES = 2, UPDATE_SCALE = 3, UPDATE_GOOD = 4, UPDATE_SKIPPED = 5 };

// Number of good steps in a row after which the loss scale doubles, as in PyTorch's `GradScaler`.
enum { UPDATE_GROWTH_INTERVAL = 2000 };

DEVICE i64 update_tensor(const u64 *table) { return (i64)(table[blockIdx.x] >> 32); }

DEVICE i64 update_start(const u64 *table, i64 chunk) { return (i64)(table[blockIdx.x] & 0xffffffffu) * chunk; }

// Number of values that this block works on.
DEVICE i64 update_len(const u64 *table, i64 blocks, i64 chunk) {
    i64 rest = (i64)table[blocks + update_tensor(table)] - update_start(table, chunk);
    return rest < chunk ? rest : chunk;
}

// Address of the first of this block's values in the tensor's buffer number `slot`.
DEVICE float *update_slot(const u64 *table, i64 blocks, i64 tensors, i64 chunk, int slot) {
    float *values = (float *)table[blocks + (2 + slot) * tensors + update_tensor(table)];
    return values + update_start(table, chunk);
}

DEVICE float update_factor(const u64 *table, i64 blocks, i64 tensors, const float *factors) {
    return factors ? factors[table[blocks + tensors + update_tensor(table)] & 0xffffffffu] : 1.0f;
}

DEVICE int update_decays(const u64 *table, i64 blocks, i64 tensors) {
    return !(table[blocks + tensors + update_tensor(table)] >> 32);
}

DEVICE int update_goes(const double *control) { return !control || control[UPDATE_GOES] != 0.0; }

// Adam. Slots: parameter, gradient, mean, square. `coupled` is the weight decay that is added to the gradient.
KERNEL update_adam_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk, const double *restrict control,
                        const float *restrict factors, const float *restrict corrections, float coupled, float keep,
                        float towards, float beta2, float one_minus_beta2, float correction2, float eps, float size) {
    if (update_goes(control)) {
        float *restrict p = update_slot(table, blocks, tensors, chunk, 0);
        const float *restrict g = update_slot(table, blocks, tensors, chunk, 1);
        float *restrict m = update_slot(table, blocks, tensors, chunk, 2);
        float *restrict v = update_slot(table, blocks, tensors, chunk, 3);
        float factor = update_factor(table, blocks, tensors, factors);
        i64 n = update_len(table, blocks, chunk);
        if (corrections) correction2 = corrections[0], size = corrections[1];
        if (!update_decays(table, blocks, tensors)) coupled = 0.0f, keep = 1.0f;
        FOR_EACH_IN_BLOCK(i, n) {
            float gradient = update_times(g[i], factor);
            if (coupled > 0.0f) gradient = gradient + update_times(coupled, p[i]);
            update_adam_value(p + i, gradient, m + i, v + i, keep, towards, beta2, one_minus_beta2, correction2, eps,
                              size);
        }
    }
}

// SGD. Slots: parameter, gradient, momentum (read only with `has_momentum`).
KERNEL update_sgd_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk, const double *restrict control,
                       const float *restrict factors, int has_momentum, float lr, float decay, float momentum,
                       int nesterov) {
    if (update_goes(control)) {
        float *restrict p = update_slot(table, blocks, tensors, chunk, 0);
        const float *restrict g = update_slot(table, blocks, tensors, chunk, 1);
        float *restrict b = has_momentum ? update_slot(table, blocks, tensors, chunk, 2) : 0;
        float factor = update_factor(table, blocks, tensors, factors);
        i64 n = update_len(table, blocks, chunk);
        if (!update_decays(table, blocks, tensors)) decay = 0.0f;
        FOR_EACH_IN_BLOCK(i, n) {
            float gradient = update_times(g[i], factor);
            update_sgd_value(p + i, gradient, b ? b + i : 0, lr, decay, momentum, nesterov);
        }
    }
}

// RMSprop. Slots: parameter, gradient, mean square, mean (read only with `centred`), momentum (only with
// `has_momentum`).
KERNEL update_rmsprop_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk,
                           const double *restrict control, const float *restrict factors, int centred,
                           int has_momentum, float size, float alpha, float one_minus_alpha, float eps,
                           float momentum, float decay) {
    if (update_goes(control)) {
        float *restrict p = update_slot(table, blocks, tensors, chunk, 0);
        const float *restrict g = update_slot(table, blocks, tensors, chunk, 1);
        float *restrict v = update_slot(table, blocks, tensors, chunk, 2);
        float *restrict m = centred ? update_slot(table, blocks, tensors, chunk, 3) : 0;
        float *restrict b = has_momentum ? update_slot(table, blocks, tensors, chunk, 4) : 0;
        float factor = update_factor(table, blocks, tensors, factors);
        i64 n = update_len(table, blocks, chunk);
        if (!update_decays(table, blocks, tensors)) decay = 0.0f;
        FOR_EACH_IN_BLOCK(i, n) {
            update_rmsprop_value(p + i, update_times(g[i], factor), v + i, m ? m + i : 0, b ? b + i : 0, size, alpha,
                                 one_minus_alpha, eps, momentum, decay);
        }
    }
}

// Lion. Slots: parameter, gradient, mean.
KERNEL update_lion_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk, const double *restrict control,
                        const float *restrict factors, float keep, float lr, float beta1, float one_minus_beta1,
                        float beta2, float one_minus_beta2) {
    if (update_goes(control)) {
        float *restrict p = update_slot(table, blocks, tensors, chunk, 0);
        const float *restrict g = update_slot(table, blocks, tensors, chunk, 1);
        float *restrict m = update_slot(table, blocks, tensors, chunk, 2);
        float factor = update_factor(table, blocks, tensors, factors);
        i64 n = update_len(table, blocks, chunk);
        if (!update_decays(table, blocks, tensors)) keep = 1.0f;
        FOR_EACH_IN_BLOCK(i, n) {
            update_lion_value(p + i, update_times(g[i], factor), m + i, keep, lr, beta1, one_minus_beta1, beta2,
                              one_minus_beta2);
        }
    }
}

// Exponential moving averages. Slots: average, and the parameter towards which it moves.
KERNEL update_lerp_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk, const double *restrict control,
                        const float *restrict factors, float weight) {
    (void)factors;
    if (update_goes(control)) {
        float *restrict x = update_slot(table, blocks, tensors, chunk, 0);
        const float *restrict y = update_slot(table, blocks, tensors, chunk, 1);
        i64 n = update_len(table, blocks, chunk);
        FOR_EACH_IN_BLOCK(i, n) x[i] = update_between(x[i], y[i], weight);
    }
}

// Sums of squares of the tensors in slot 0: one sum for every block.
KERNEL update_squares_many(const u64 *restrict table, i64 blocks, i64 tensors, i64 chunk, double *restrict sums) {
    SHARED(double, scratch, [32]);
    const float *x = update_slot(table, blocks, tensors, chunk, 0);
    double sum = update_squares_of(x, update_len(table, blocks, chunk), scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The gradient at which backward starts, that of the scaled loss with respect to the loss: `share` times the loss
// scale.
KERNEL update_loss_grad(const double *restrict control, float share, float *restrict gradient) {
    if (threadIdx.x == 0) gradient[0] = share * (float)control[UPDATE_SCALE];
}

KERNEL update_add_loss(const float *restrict loss, double share, double *restrict control) {
    if (threadIdx.x == 0) control[UPDATE_LOSS] += update_times_double((double)loss[0], share);
}

// Updates loss scale and counters after a step: skipped because gradients overflowed, or good.
DEVICE void update_scale_after(double *control, int overflows) {
    if (overflows) {
        control[UPDATE_SCALE] *= 0.5;
        control[UPDATE_GOOD] = 0.0;
        control[UPDATE_SKIPPED] += 1.0;
        return;
    }
    control[UPDATE_GOOD] += 1.0;
    if (control[UPDATE_GOOD] == UPDATE_GROWTH_INTERVAL) {
        if (2.0 * control[UPDATE_SCALE] < 3e38) control[UPDATE_SCALE] *= 2.0;
        control[UPDATE_GOOD] = 0.0;
    }
}

// Decides whether the step goes on: not after any loss was not finite or above `max_loss`, and, where losses are
// scaled, not with gradients that are not finite. Then computes the factor of each part's gradients: the inverse of the
// loss scale, times what limits their norm to `max_norm`. `sums` has the sum of squares of each block; `starts` has the
// first block of each part, and the number of blocks. Runs in a single block.
KERNEL update_decide(const double *restrict sums, const u64 *restrict starts, int parts, double max_norm,
                     double max_loss, int scales, double *restrict control, float *restrict factors) {
    SHARED(double, scratch, [32]);
    double scale = scales ? control[UPDATE_SCALE] : 1.0;
    int overflows = 0;
    for (int part = 0; part < parts; part++) {
        double sum = 0.0;
        if (sums) {
            for (u64 i = starts[part] + threadIdx.x; i < starts[part + 1]; i += blockDim.x) sum += sums[i];
            sum = block_sum_double(sum, scratch);
        }
        if (scales && !isfinite(sum)) overflows = 1;
        double factor = max_norm / (sqrt(sum) / scale + 1e-6);
        // The loss scale is a power of two, so that dividing by it is exact.
        if (threadIdx.x == 0) factors[part] = (factor < 1.0 ? (float)factor : 1.0f) / (float)scale;
    }
    block_wait();
    if (threadIdx.x == 0) {
        double loss = control[UPDATE_LOSS];
        if (!isfinite(loss) || loss > max_loss) control[UPDATE_DIVERGED] = 1.0;
        int diverged = control[UPDATE_DIVERGED] != 0.0;
        control[UPDATE_GOES] = !diverged && !overflows;
        control[UPDATE_LOSS] = 0.0;
        if (scales && !diverged) update_scale_after(control, overflows);
    }
}

// Adam's bias corrections `√(1 - β₂ⁿ)` and `-lr / (1 - β₁ⁿ)`, where n is `tried`, the number of steps so far, less the
// skipped ones.
KERNEL update_corrections(const double *restrict control, i64 tried, double lr, double beta1, double beta2,
                          float *restrict corrections) {
    if (threadIdx.x == 0) {
        double n = (double)tried - control[UPDATE_SKIPPED];
        corrections[0] = (float)sqrt(1.0 - pow(beta2, n));
        corrections[1] = (float)(-lr / (1.0 - pow(beta1, n)));
    }
}
