// Pooling: the largest value or the mean of square windows of images (B, H, W, C).

// One thread per output. `places`, if not null, gets the position of the maximum in its window, counted row by row.
KERNEL pool_forward(const float *restrict x, float *restrict y, float *restrict places, i64 n, u32 height, u32 width,
                    u32 channels, u32 down, u32 across, u32 kernel, u32 stride, u32 padding, int is_max) {
    FOR_EACH(i, n) {
        i64 pixel = quotient_of(i, channels), row_of_all = quotient_of(pixel, across);
        i64 image = quotient_of(row_of_all, down);
        u32 channel = (u32)(i - pixel * channels), column = (u32)(pixel - row_of_all * across);
        u32 row = (u32)(row_of_all - image * down);
        float best = 0.0f, place = 0.0f;
        int is_first = 1;
        for (u32 v = 0; v < kernel; v++) {
            u32 vertical = row * stride + v;
            if (vertical < padding || vertical >= height + padding) continue;
            for (u32 h = 0; h < kernel; h++) {
                u32 horizontal = column * stride + h;
                if (horizontal < padding || horizontal >= width + padding) continue;
                float value = x[((image * height + vertical - padding) * width + horizontal - padding) * channels + channel];
                if (!is_max) {
                    best += value;
                } else if (is_first || value > best || value != value) {
                    best = value;
                    place = (float)(v * kernel + h);
                    is_first = 0;
                }
            }
        }
        y[i] = is_max ? best : best * (1.0f / (float)(kernel * kernel));
        if (places) places[i] = place;
    }
}

// One thread per input, which sums the gradients of the windows that cover it, in the order of the windows.
KERNEL pool_backward(const float *restrict dy, const float *restrict places, float *restrict dx, i64 n, u32 height,
                     u32 width, u32 channels, u32 down, u32 across, u32 kernel, u32 stride, u32 padding,
                     int adds) {
    FOR_EACH(i, n) {
        i64 pixel = quotient_of(i, channels), row_of_all = quotient_of(pixel, width);
        i64 image = quotient_of(row_of_all, height);
        u32 channel = (u32)(i - pixel * channels), column = (u32)(pixel - row_of_all * width) + padding;
        u32 row = (u32)(row_of_all - image * height) + padding;
        float sum = 0.0f, share = 1.0f / (float)(kernel * kernel);
        for (u32 r = row < kernel ? 0 : (row - kernel) / stride + 1; r <= row / stride && r < down; r++) {
            for (u32 c = column < kernel ? 0 : (column - kernel) / stride + 1; c <= column / stride && c < across; c++) {
                i64 at = ((image * down + r) * across + c) * channels + channel;
                if (!places) {
                    sum += share * dy[at];
                } else if (places[at] == (float)((row - r * stride) * kernel + column - c * stride)) {
                    sum += dy[at];
                }
            }
        }
        WRITE(adds, dx[i], sum);
    }
}
