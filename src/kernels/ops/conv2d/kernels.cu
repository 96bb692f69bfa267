// Convolution. Images are (B, H, W, C), weights (kh, kw, C, K), windows as rows of a matrix (B H' W', kh kw C).

// The windows of result row `blockIdx.x` (image by image) in filter row `blockIdx.y`. A window's row is contiguous in the
// image and in the matrix, so that neighbouring threads touch neighbouring values of both.
KERNEL conv2d_windows(const float *restrict x, float *restrict windows, int height, int width, int channels,
                      int out_height, int out_width, int kernel_height, int kernel_width, int stride, int padding) {
    int r = blockIdx.y;
    int image = blockIdx.x / out_height, i = blockIdx.x % out_height;
    int y = i * stride + r - padding;
    int row_len = y >= 0 && y < height ? width * channels : 0;
    int window_row = kernel_width * channels, shift = padding * channels, step = stride * channels;
    const float *row = x + ((i64)image * height + (row_len ? y : 0)) * width * channels;
    float *target = windows + (i64)blockIdx.x * out_width * kernel_height * window_row + r * window_row;
    i64 window = (i64)kernel_height * window_row;
    for (int n = threadIdx.x; n < out_width * window_row; n += blockDim.x) {
        int j = n / window_row, rest = n - j * window_row;
        int at = j * step - shift + rest;
        target[j * window + rest] = at >= 0 && at < row_len ? row[at] : 0.0f;
    }
}

// Adds to the pixels of input row `blockIdx.x` what all windows that they lie in have for them, in the order of the
// windows' rows and columns. `grad_x` begins at the first image whose windows these are.
KERNEL conv2d_gather(const float *restrict windows, float *restrict grad_x, i64 first_image, int height, int width,
                     int channels, int out_height, int out_width, int kernel_height, int kernel_width, int stride,
                     int padding) {
    int image = blockIdx.x / height, y = blockIdx.x % height;
    i64 window_row = (i64)kernel_width * channels, window = kernel_height * window_row;
    float *row = grad_x + ((first_image + image) * height + y) * width * channels;
    for (int n = blockIdx.y * blockDim.x + threadIdx.x; n < width * channels; n += gridDim.y * blockDim.x) {
        int x = n / channels, c = n - x * channels;
        float sum = 0.0f;
        for (int r = 0; r < kernel_height; r++) {
            int below = y + padding - r, i = below / stride;
            if (below < 0 || i * stride != below || i >= out_height) continue;
            const float *from = windows + ((i64)image * out_height + i) * out_width * window + r * window_row + c;
            for (int s = 0; s < kernel_width; s++) {
                int right = x + padding - s, j = right / stride;
                if (right < 0 || j * stride != right || j >= out_width) continue;
                sum += from[j * window + s * channels];
            }
        }
        row[n] += sum;
    }
}

// Adds the bias to every row of `channels` values.
KERNEL conv2d_add_bias(const float *restrict bias, float *restrict y, i64 n, u32 channels) {
    u32 step = blockDim.x % channels;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 k = remainder_of(start, channels);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = (i < n ? y[i] : 0.0f) + bias[k];
            k += step;
            if (k >= channels) k -= channels;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = values[j];
        }
    }
}

// Weights for cuDNN are (K', kh, kw, C'), with zeros for channels from C and K on: the transposed matrix of ours, by tiles
// of 32 x 32. Tile (x, y) of (kh kw C', K') by the blocks of 256 threads; `tile` has rows of 33, so that columns lie in
// banks of their own.
DEVICE void conv2d_load_weight(const float *weight, float *tile, int channels, int outputs, int padded_channels,
                               int rows) {
    int k = blockIdx.y * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int row = blockIdx.x * 32 + i;
        int tap = row / padded_channels, c = row - tap * padded_channels;
        int is_inside = row < rows && c < channels && k < outputs;
        tile[i * 33 + threadIdx.x % 32] = is_inside ? weight[((i64)tap * channels + c) * outputs + k] : 0.0f;
    }
    block_wait();
}

KERNEL conv2d_filter(const float *restrict weight, float *restrict filter, int channels, int outputs, int rows) {
    SHARED(float, tile, [32 * 33]);
    conv2d_load_weight(weight, tile, channels, outputs, channels, rows);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        if (k < outputs && row < rows) filter[(i64)k * rows + row] = tile[(threadIdx.x % 32) * 33 + i];
    }
}

KERNEL conv2d_filter_half(const float *restrict weight, half_t *restrict filter, int channels, int outputs,
                          int padded_channels, int padded_outputs, int rows) {
    SHARED(float, tile, [32 * 33]);
    conv2d_load_weight(weight, tile, channels, outputs, padded_channels, rows);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        if (k < padded_outputs && row < rows)
            filter[(i64)k * rows + row] = float_to_half(tile[(threadIdx.x % 32) * 33 + i]);
    }
}

// The inverse transform for the gradient of such weights, which is added to the gradient in our layout.
DEVICE void conv2d_store_weight(const float *tile, float *grad_weight, int channels, int outputs, int padded_channels,
                                int rows) {
    block_wait();
    int k = blockIdx.y * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int row = blockIdx.x * 32 + i;
        int tap = row / padded_channels, c = row - tap * padded_channels;
        if (row < rows && c < channels && k < outputs)
            grad_weight[((i64)tap * channels + c) * outputs + k] += tile[(threadIdx.x % 32) * 33 + i];
    }
}

KERNEL conv2d_add_filter(const float *restrict grad, float *restrict grad_weight, int channels, int outputs,
                         int rows) {
    SHARED(float, tile, [32 * 33]);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        tile[i * 33 + threadIdx.x % 32] = k < outputs && row < rows ? grad[(i64)k * rows + row] : 0.0f;
    }
    conv2d_store_weight(tile, grad_weight, channels, outputs, channels, rows);
}

KERNEL conv2d_add_filter_half(const half_t *restrict grad, float *restrict grad_weight, int channels, int outputs,
                              int padded_channels, int rows) {
    SHARED(float, tile, [32 * 33]);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        tile[i * 33 + threadIdx.x % 32] =
            k < outputs && row < rows ? half_to_float(grad[(i64)k * rows + row]) : 0.0f;
    }
    conv2d_store_weight(tile, grad_weight, channels, outputs, padded_channels, rows);
}

// Pixels rounded to `f16`, with zeros for channels from `channels` to `padded`; `n` values of the result.
KERNEL conv2d_halve(const float *restrict x, half_t *restrict half, i64 n, u32 channels, u32 padded) {
    u32 step = blockDim.x % padded, pixels = blockDim.x / padded;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 c = remainder_of(start, padded);
        i64 pixel = quotient_of(start, padded);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n && c < channels ? x[pixel * channels + c] : 0.0f;
            pixel += pixels;
            c += step;
            if (c >= padded) {
                c -= padded;
                pixel++;
            }
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) half[i] = float_to_half(values[j]);
        }
    }
}

// The inverse, `n` values of the result: with a bias (or null) instead of what stands in `y`, or added to it.
KERNEL conv2d_widen(const half_t *restrict half, const float *restrict bias, float *restrict y, i64 n, u32 channels,
                    u32 padded, int adds) {
    u32 step = blockDim.x % channels, pixels = blockDim.x / channels;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 c = remainder_of(start, channels);
        i64 pixel = quotient_of(start, channels);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? half_to_float(half[pixel * padded + c]) : 0.0f;
            if (bias) values[j] += bias[c];
            if (adds && i < n) values[j] += y[i];
            pixel += pixels;
            c += step;
            if (c >= channels) {
                c -= channels;
                pixel++;
            }
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = values[j];
        }
    }
}
