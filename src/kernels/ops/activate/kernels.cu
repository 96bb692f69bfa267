KERNEL activate_forward(const float *restrict x, float *restrict y, i64 n, int activation) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? x[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = activate(activation, values[j]);
        }
    }
}

// The derivative from the value that is kept for backward: the function's result for TANH, SIGMOID, RELU and LEAKY_RELU
// (for the last two the formula is the same for `x` and for the result), and `x` for the others.
DEVICE float activate_slope_from_kept(int activation, float kept) {
    switch (activation) {
    case TANH: return 1.0f - kept * kept;
    case SIGMOID: return kept * (1.0f - kept);
    default: return activate_slope(activation, kept);
    }
}

KERNEL activate_backward(const float *restrict kept, float *restrict grad, i64 n, int activation) {
    FOR_EACH_TILE(start, n) {
        float values[TILE], slopes[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? grad[i] : 0.0f;
            slopes[j] = i < n ? kept[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            // Adding 0 turns -0 into 0, as adding to a gradient of zeros would.
            if (i < n) grad[i] = values[j] * activate_slope_from_kept(activation, slopes[j]) + 0.0f;
        }
    }
}
