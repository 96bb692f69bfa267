// Kernels for the end of a residual block without its group norm. A thread handles the four values of one counter of
// the dropout mask; a threshold of 0 keeps all values.

// `y = silu(drop(h) + residual)`; the sum before the SiLU is also written to `before` (f32) or `half` (16 bits), if not
// null.
KERNEL norm_residual_forward(const float *restrict h, const float *restrict residual, float *restrict before,
                             half_t *restrict half, float *restrict y, u64 key, u32 threshold, float scale,
                             i64 counters, i64 n, int is_bf16) {
    FOR_EACH(counter, counters) {
        u32 words[4];
        i64 first = dropout_mask(key, threshold, counter, words);
        float sums[4];
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            sums[word] = i < n ? (words[word] >= threshold ? h[i] * scale : 0.0f) + residual[i] : 0.0f;
        }
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            if (i >= n) continue;
            if (before) before[i] = sums[word];
            if (half) half[i] = float_to_half(sums[word], is_bf16);
            y[i] = activate(SILU, sums[word]);
        }
    }
}

// With `dz = grad_output * silu'(before)`: writes `drop(dz)` to `grad_h`, and writes or adds dz to `grad_residual`
// unless that is null.
KERNEL norm_residual_backward(const float *restrict before, const half_t *restrict half,
                              const float *restrict grad_output, float *restrict grad_h, float *restrict grad_residual,
                              int adds, u64 key, u32 threshold, float scale, i64 counters, i64 n, int is_bf16) {
    FOR_EACH(counter, counters) {
        u32 words[4];
        i64 first = dropout_mask(key, threshold, counter, words);
        float dz[4];
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            float x = i < n ? value_at(before, half, i, is_bf16) : 0.0f;
            dz[word] = i < n ? grad_output[i] * activate_slope(SILU, x) : 0.0f;
        }
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            if (i >= n) continue;
            grad_h[i] = words[word] >= threshold ? dz[word] * scale : 0.0f;
            if (grad_residual) WRITE(adds, grad_residual[i], dz[word]);
        }
    }
}
