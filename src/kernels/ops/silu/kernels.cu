KERNEL silu_forward(const float *restrict x, float *restrict y, i64 n) {
    FOR_EACH(i, n) y[i] = activate(SILU, x[i]);
}

KERNEL silu_backward(const float *restrict x, const float *restrict grad_output, float *restrict grad_x, i64 n) {
    FOR_EACH(i, n) grad_x[i] += grad_output[i] * activate_slope(SILU, x[i]);
}
