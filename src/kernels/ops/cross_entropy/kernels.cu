// One warp per row: the highest logit, the exponentials and their sum, then the probabilities. The losses of a block's
// rows are summed in f64, as on the CPU. `own_shares` and `spread` are the fields `own` and `spread` of `ClassTargetWeights`;
// if both are null, the target is 1 for the label and 0 for other classes.
KERNEL cross_entropy_forward(const float *restrict logits, const u32 *restrict labels, float *probabilities,
                             double *restrict partials, i64 rows, int classes, const float *restrict own_shares,
                             const float *restrict spread) {
    SHARED(double, scratch, [32]);
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    double loss = 0.0;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = logits + row * classes;
        float *result = probabilities + row * classes;
        float highest = -INFINITY;
        for (int i = lane; i < classes; i += 32) highest = fmaxf(highest, own[i]);
        highest = warp_max(highest);
        float sum = 0.0f;
        for (int i = lane; i < classes; i += 32) {
            float value = expf(own[i] - highest);
            result[i] = value;
            sum += value;
        }
        sum = warp_sum(sum);
        for (int i = lane; i < classes; i += 32) result[i] /= sum;
        float log = logf(sum) + highest;
        if (lane == 0) {
            double share = own_shares ? (double)own_shares[labels[row]] : 1.0;
            loss += share * (double)(log - own[labels[row]]);
        }
        if (!spread) continue;
        for (int i = lane; i < classes; i += 32) loss += (double)spread[i] * (double)(log - own[i]);
    }
    loss = block_sum_double(loss, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = loss;
}

KERNEL cross_entropy_backward(const float *restrict probabilities, const u32 *restrict labels,
                              const float *restrict dy, float *restrict dlogits, i64 rows, int classes,
                              int adds, float divisor, const float *restrict own_shares,
                              const float *restrict spread, float spread_sum) {
    float scale = dy[0] / divisor;
    FOR_EACH(i, rows * classes) {
        i64 row = i / classes;
        u32 label = labels[row];
        float own = own_shares ? own_shares[label] : 1.0f;
        float target = i - row * classes == label ? own : 0.0f;
        if (spread) target += spread[i - row * classes];
        WRITE(adds, dlogits[i], scale * ((spread_sum + own) * probabilities[i] - target));
    }
}
