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

// The derivative from what is kept for backward: the result of tanh and sigmoid, and of the functions whose formula is the
// same for their input and their result; else the input.
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
            // The sum makes 0 of -0, as it would be added to a gradient of zeros.
            if (i < n) grad[i] = values[j] * activate_slope_from_kept(activation, slopes[j]) + 0.0f;
        }
    }
}
