// Bilinear upsampling by 2 with aligned corners: an output row or column lies between two of the input.

// Writes the two neighbouring inputs, of `size`, that `output` lies between to `low` and `high`; returns the weight of
// `high`.
DEVICE float upsample_tap(u32 output, u32 size, u32 *low, u32 *high) {
    float position = (float)(size - 1) / (float)(2 * size - 1) * (float)output;
    u32 before = (u32)position;
    *low = before < size - 1 ? before : size - 1;
    *high = *low + 1 < size - 1 ? *low + 1 : size - 1;
    return position - (float)*low;
}

// The weight of input `index` in `output`.
DEVICE float upsample_share(u32 output, u32 index, u32 size) {
    u32 low, high;
    float weight = upsample_tap(output, size, &low, &high);
    float share = index == low ? 1.0f - weight : 0.0f;
    return index == high ? share + weight : share;
}

// Block (x, y) computes piece y of output row x, counted over the rows of all images.
KERNEL upsample_forward(const float *restrict x, float *restrict y, u32 h, u32 w, u32 c) {
    u32 i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= 2 * w * c) return;
    u32 top, bottom, left, right, channel = i % c;
    float down = upsample_tap(blockIdx.x % (2 * h), h, &top, &bottom);
    float along = upsample_tap(i / c, w, &left, &right);
    const float *image = x + (i64)(blockIdx.x / (2 * h)) * h * w * c + channel;
    const float *above = image + (i64)top * w * c, *below = image + (i64)bottom * w * c;
    float first = (1.0f - along) * above[left * c] + along * above[right * c];
    float second = (1.0f - along) * below[left * c] + along * below[right * c];
    y[(i64)blockIdx.x * (2 * w * c) + i] = (1.0f - down) * first + down * second;
}

// Block (x, y) computes piece y of input row x, counted over the rows of all images. Input r enters at most the outputs
// 2r - 2 to 2r + 3: outputs lie less than 1/2 input apart, and output o lies at o (1/2 - 1/(4 size - 2)).
KERNEL upsample_backward(const float *restrict dy, float *restrict dx, u32 h, u32 w, u32 c, int adds) {
    enum { REACH = 6 };
    u32 i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= w * c) return;
    u32 row = blockIdx.x % h, column = i / c, channel = i % c;
    u32 first_x = column ? 2 * column - 2 : 0, first_y = row ? 2 * row - 2 : 0;
    float shares[REACH];
    for (u32 k = 0; k < REACH; k++)
        shares[k] = first_x + k < 2 * w ? upsample_share(first_x + k, column, w) : 0.0f;
    const float *image = dy + (i64)(blockIdx.x / h) * (2 * h) * (2 * w) * c + channel;
    float sum = 0.0f;
    for (u32 output = first_y; output < first_y + REACH && output < 2 * h; output++) {
        float share = upsample_share(output, row, h);
        if (share == 0.0f) continue;
        const float *from = image + ((i64)output * (2 * w) + first_x) * c;
        for (u32 k = 0; k < REACH; k++)
            if (shares[k] != 0.0f) sum += share * shares[k] * from[k * c];
    }
    WRITE(adds, dx[(i64)blockIdx.x * (w * c) + i], sum);
}

// Repeats every pixel `factor` times in height and width. One thread per output. Rows are counted over all images,
// since an image has exactly `factor` times as many rows in the output as in the input.
KERNEL upsample_nearest_forward(const float *restrict x, float *restrict y, i64 n, u32 w, u32 c, u32 factor) {
    FOR_EACH(i, n) {
        i64 pixel = quotient_of(i, c), row = quotient_of(pixel, factor * w);
        u32 channel = (u32)(i - pixel * c), column = (u32)(pixel - row * (factor * w));
        y[i] = x[(quotient_of(row, factor) * w + column / factor) * c + channel];
    }
}

// One thread per input, which sums the gradients of its outputs row by row.
KERNEL upsample_nearest_backward(const float *restrict dy, float *restrict dx, i64 n, u32 w, u32 c, u32 factor,
                                 int adds) {
    FOR_EACH(i, n) {
        i64 pixel = quotient_of(i, c), row = quotient_of(pixel, w);
        u32 channel = (u32)(i - pixel * c), column = (u32)(pixel - row * w);
        float sum = 0.0f;
        for (u32 v = 0; v < factor; v++) {
            const float *from = dy + ((row * factor + v) * (factor * w) + column * factor) * c + channel;
            for (u32 h = 0; h < factor; h++) sum += from[h * c];
        }
        WRITE(adds, dx[i], sum);
    }
}
