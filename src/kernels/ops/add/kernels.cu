// `y = act(a + b)`; the sum before the activation is also written to `before` unless that is null.
KERNEL add_forward(const float *restrict a, const float *restrict b, float *restrict before, float *restrict y, i64 n,
                   int activation) {
    FOR_EACH_TILE(start, n) {
        float sums[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            sums[j] = i < n ? a[i] + b[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) {
                if (before) before[i] = sums[j];
                y[i] = activate(activation, sums[j]);
            }
        }
    }
}

// Writes `grad_output * act'(before)` to the gradients that are not null, or adds it. `grad_a` and `grad_b` may be one
// array: it then gets the value twice, and `adds_a` applies. Without `before` the derivative is 1.
KERNEL add_backward(const float *restrict before, const float *restrict grad_output, float *grad_a, int adds_a,
                    float *grad_b, int adds_b, i64 n, int activation) {
    int is_one = grad_a == grad_b;
    FOR_EACH_TILE(start, n) {
        float grad[TILE], a[TILE], b[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            grad[j] = i < n ? grad_output[i] : 0.0f;
            if (before && i < n) grad[j] *= activate_slope(activation, before[i]);
            a[j] = grad_a && adds_a && i < n ? grad_a[i] : 0.0f;
            b[j] = grad_b && adds_b && !is_one && i < n ? grad_b[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i >= n) continue;
            if (grad_a) grad_a[i] = is_one ? a[j] + grad[j] + grad[j] : a[j] + grad[j];
            if (grad_b && !is_one) grad_b[i] = b[j] + grad[j];
        }
    }
}

KERNEL add_accumulate(const float *restrict values, float *restrict grad, i64 n) {
    FOR_EACH_TILE(start, n) {
        float sums[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            sums[j] = i < n ? grad[i] + values[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) grad[i] = sums[j];
        }
    }
}
