// The derivative of the absolute value, 0 at 0.
DEVICE double physics_sign(double value) {
    return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : value;
}

// A block processes one row at a time: total, moment and hits of the implied signal and of the true one in f64, then
// the row's value and the gradient (a, b) of that value (see `mod.rs`). `partials` gets the sum of each block's row
// values.
KERNEL physics_forward(const float *restrict estimate, const float *restrict noised, const float *restrict clean,
                       const float *restrict alpha_bars, double *restrict partials, float *restrict gradients,
                       i64 rows, i64 voxels, float smallest_alpha_bar, float hit, double small, double energy,
                       double multiplicity, double locality, double scale) {
    SHARED(double, scratch, [32]);
    double value = 0.0;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        double alpha_bar = (double)fmaxf(alpha_bars[row], smallest_alpha_bar);
        double noise = sqrt(1.0 - alpha_bar), signal = sqrt(alpha_bar), by_signal = 1.0 / signal;
        double total = 0.0, moment = 0.0, hits = 0.0, true_total = 0.0, true_moment = 0.0, true_hits = 0.0;
        FOR_EACH_IN_BLOCK(i, voxels) {
            i64 at = row * voxels + i;
            double own = ((double)noised[at] - noise * (double)estimate[at]) * by_signal, truth = (double)clean[at];
            total += own;
            moment += (double)i * own;
            hits += own > (double)hit ? 1.0 : 0.0;
            true_total += truth;
            true_moment += (double)i * truth;
            true_hits += truth > (double)hit ? 1.0 : 0.0;
        }
        total = block_sum_double(total, scratch);
        moment = block_sum_double(moment, scratch);
        hits = block_sum_double(hits, scratch);
        true_total = block_sum_double(true_total, scratch);
        true_moment = block_sum_double(true_moment, scratch);
        true_hits = block_sum_double(true_hits, scratch);
        double excess = total - true_total, divisor = total + small, true_divisor = true_total + small;
        double centre = moment / divisor, shift = centre - true_moment / true_divisor;
        value += energy * fabs(excess) / true_divisor + multiplicity * fabs(hits - true_hits) + locality * fabs(shift);
        // d com / d x_i = (i - com) / (sum + small), d x / d estimate = -noise / signal.
        double by_estimate = -scale * noise / signal;
        double slope = by_estimate * locality * physics_sign(shift) / divisor;
        double level = by_estimate * energy * physics_sign(excess) / true_divisor - slope * centre;
        if (threadIdx.x == 0) gradients[2 * row] = (float)level, gradients[2 * row + 1] = (float)slope;
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

KERNEL physics_backward(const float *restrict gradients, const float *restrict dy, float *restrict grad, i64 rows,
                        i64 voxels) {
    for (i64 row = blockIdx.y; row < rows; row += gridDim.y) {
        float a = gradients[2 * row] * dy[0], b = gradients[2 * row + 1] * dy[0];
        FOR_EACH(i, voxels) grad[row * voxels + i] += a + b * (float)i;
    }
}
