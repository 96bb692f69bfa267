// The terms of `ErrorTerm`, by their number in `cuda.rs`.
enum { MEAN_ERROR_SQUARED = 0, MEAN_ERROR_ABSOLUTE = 1, MEAN_ERROR_HUBER = 2 };

// The error of a difference: absolute or Huber's. Squares are computed in the kernel.
DEVICE double mean_error_term(int term, double delta, double difference) {
    double size = fabs(difference);
    if (term == MEAN_ERROR_ABSOLUTE) return size;
    return size > delta ? delta * (size - 0.5 * delta) : 0.5 * size * size;
}

// The slope of the error at a difference, of the squared error without its factor 2. As on the CPU, the slope of the
// absolute error at NaN is 0.
DEVICE float mean_error_slope(int term, float delta, float difference) {
    if (term == MEAN_ERROR_SQUARED) return difference;
    float most = term == MEAN_ERROR_ABSOLUTE ? 0.0f : delta;
    float beyond = term == MEAN_ERROR_ABSOLUTE ? 1.0f : delta;
    if (difference > most) return beyond;
    if (difference < -most) return -beyond;
    return term == MEAN_ERROR_ABSOLUTE ? 0.0f : difference;
}

// Sum of the errors of a block's values; differences in f32, errors and sums in f64, as on the CPU.
KERNEL mean_error_forward(const float *restrict x, const float *restrict target, double *restrict partials, i64 n,
                          int term, float delta) {
    SHARED(double, scratch, [32]);
    double sum = 0.0;
    // Squares in a loop of their own, so that square and addition can be one instruction.
    if (term == MEAN_ERROR_SQUARED) {
        FOR_EACH(i, n) {
            double difference = (double)(x[i] - target[i]);
            sum += difference * difference;
        }
    } else {
        FOR_EACH(i, n) sum += mean_error_term(term, delta, (double)(x[i] - target[i]));
    }
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

KERNEL mean_error_backward(const float *restrict x, const float *restrict target, const float *restrict dy,
                           float *restrict dx, i64 n, int adds, int term, float delta) {
    float factor = term == MEAN_ERROR_SQUARED ? 2.0f : 1.0f;
    float scale = factor * dy[0] / (float)n;
    FOR_EACH(i, n) WRITE(adds, dx[i], scale * mean_error_slope(term, delta, x[i] - target[i]));
}
