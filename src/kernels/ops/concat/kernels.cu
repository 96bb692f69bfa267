// Concatenation along the last dimension: rows of `width_a` and `width_b` values side by side.

KERNEL concat_forward(const float *restrict a, const float *restrict b, float *restrict y, i64 n, u32 width_a,
                      u32 width_b) {
    u32 width = width_a + width_b;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            i64 row = quotient_of(i, width);
            u32 column = (u32)(i - row * width);
            values[j] = 0.0f;
            if (i < n) values[j] = column < width_a ? a[row * width_a + column] : b[row * width_b + column - width_a];
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = values[j];
        }
    }
}

// Writes to `grad` (rows of `width` values), or adds, the columns of `grad_output` (rows of `total` values) from
// `offset` on.
KERNEL concat_backward(const float *restrict grad_output, float *restrict grad, i64 n, u32 total, u32 offset,
                       u32 width, int adds) {
    FOR_EACH_TILE(start, n) {
        float sums[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            i64 row = quotient_of(i, width);
            u32 column = (u32)(i - row * width);
            sums[j] = i < n ? grad_output[row * total + offset + column] : 0.0f;
            if (adds && i < n) sums[j] += grad[i];
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) grad[i] = sums[j];
        }
    }
}
