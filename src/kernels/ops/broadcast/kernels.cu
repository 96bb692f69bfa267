// Kernels for values `x[o, p, i]` and rows `y[o, i]` that are the same at every position p.

// Index in `y` of the value that belongs to value `i` of `x`.
DEVICE i64 broadcast_row(i64 i, u32 positions, u32 inner) {
    i64 row = quotient_of(i, inner);
    return quotient_of(row, positions) * inner + (i - row * inner);
}

KERNEL broadcast_forward(const float *restrict x, const float *restrict y, float *restrict z, i64 n, u32 positions,
                         u32 inner, int multiplies) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = 0.0f;
            if (i < n) {
                float other = y[broadcast_row(i, positions, inner)];
                values[j] = multiplies ? x[i] * other : x[i] + other;
            }
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) z[i] = values[j];
        }
    }
}

// `sums[o, i] = factor * sum over p of a[o, p, i]`, or of `a * b` if `b` is not null; written or added. One thread per
// sum, which adds blocks of 64 positions.
KERNEL broadcast_sums(const float *restrict a, const float *restrict b, float *restrict sums, i64 n, u32 positions,
                      u32 inner, float factor, int adds) {
    FOR_EACH(i, n) {
        i64 outer = quotient_of(i, inner);
        i64 at = outer * positions * inner + (i - outer * inner);
        float total = 0.0f;
        for (u32 first = 0; first < positions; first += 64) {
            float block = 0.0f;
            for (u32 p = first; p < positions && p < first + 64; p++, at += inner) {
                block += b ? a[at] * b[at] : a[at];
            }
            total += block;
        }
        sums[i] = adds ? sums[i] + factor * total : factor * total;
    }
}

KERNEL broadcast_spread(const float *restrict y, float *restrict x, i64 n, u32 positions, u32 inner, float factor,
                        int adds) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = 0.0f;
            if (i < n) values[j] = factor * y[broadcast_row(i, positions, inner)] + (adds ? x[i] : 0.0f);
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) x[i] = values[j];
        }
    }
}
