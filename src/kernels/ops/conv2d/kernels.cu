// Convolution. Images are (B, H, W, C), weights (kh, kw, C/groups, K), windows as rows of a matrix
// (B H' W', groups kh kw C/groups).

// The windows of result row `blockIdx.x` (image by image) in filter row `blockIdx.y`. A window's tap is contiguous in the
// image and, group by group, in the matrix, so that neighbouring threads touch neighbouring values of both.
KERNEL conv2d_windows(const float *restrict x, float *restrict windows, int height, int width, int channels,
                      int out_height, int out_width, int kernel_height, int kernel_width, int stride, int padding,
                      int dilation, int groups) {
    int r = blockIdx.y;
    int image = blockIdx.x / out_height, i = blockIdx.x % out_height;
    int y = i * stride + r * dilation - padding;
    int row_len = y >= 0 && y < height ? width * channels : 0;
    int window_row = kernel_width * channels, each = channels / groups;
    const float *row = x + ((i64)image * height + (row_len ? y : 0)) * width * channels;
    float *target = windows + (i64)blockIdx.x * out_width * kernel_height * window_row;
    i64 window = (i64)kernel_height * window_row;
    for (int n = threadIdx.x; n < out_width * window_row; n += blockDim.x) {
        int j = n / window_row, rest = n - j * window_row;
        int s = rest / channels, c = rest - s * channels, group = c / each;
        int at = (j * stride + s * dilation - padding) * channels + c;
        int tap = (group * kernel_height + r) * kernel_width + s;
        target[j * window + (i64)tap * each + c - group * each] = at >= 0 && at < row_len ? row[at] : 0.0f;
    }
}

// Writes or adds to the pixels of input row `blockIdx.x` what all windows that they lie in have for them, in the order of
// the windows' rows and columns. `grad_x` begins at the first image whose windows these are.
KERNEL conv2d_gather(const float *restrict windows, float *restrict grad_x, i64 first_image, int height, int width,
                     int channels, int out_height, int out_width, int kernel_height, int kernel_width, int stride,
                     int padding, int dilation, int groups, int adds) {
    int image = blockIdx.x / height, y = blockIdx.x % height;
    i64 window = (i64)kernel_height * kernel_width * channels;
    float *row = grad_x + ((first_image + image) * height + y) * width * channels;
    for (int n = blockIdx.y * blockDim.x + threadIdx.x; n < width * channels; n += gridDim.y * blockDim.x) {
        int x = n / channels, c = n - x * channels, each = channels / groups, group = c / each;
        i64 first = (i64)group * kernel_height * kernel_width * each + c - group * each;
        float sum = 0.0f;
        for (int r = 0; r < kernel_height; r++) {
            int below = y + padding - r * dilation, i = below / stride;
            if (below < 0 || i * stride != below || i >= out_height) continue;
            const float *from = windows + ((i64)image * out_height + i) * out_width * window + first + r * kernel_width * each;
            for (int s = 0; s < kernel_width; s++) {
                int right = x + padding - s * dilation, j = right / stride;
                if (right < 0 || j * stride != right || j >= out_width) continue;
                sum += from[j * window + s * each];
            }
        }
        WRITE(adds, row[n], sum);
    }
}

// Depthwise: every channel is a group. The number of results of a channel is `each`, so that result k reads channel
// k / each.

// Results of row `blockIdx.x` of all images, with their bias (or null).
KERNEL conv2d_depthwise(const float *restrict x, const float *restrict weight, const float *restrict bias,
                        float *restrict y, int height, int width, int channels, int out_height, int out_width,
                        int kernel_height, int kernel_width, int stride, int padding, int dilation, int outputs) {
    int image = blockIdx.x / out_height, i = blockIdx.x % out_height, each = outputs / channels;
    const float *images = x + (i64)image * height * width * channels;
    float *row = y + (i64)blockIdx.x * out_width * outputs;
    for (int n = blockIdx.y * blockDim.x + threadIdx.x; n < out_width * outputs; n += gridDim.y * blockDim.x) {
        int j = n / outputs, k = n - j * outputs;
        float sum = bias ? bias[k] : 0.0f;
        for (int r = 0; r < kernel_height; r++) {
            int down = i * stride + r * dilation - padding;
            if (down < 0 || down >= height) continue;
            for (int s = 0; s < kernel_width; s++) {
                int across = j * stride + s * dilation - padding;
                if (across < 0 || across >= width) continue;
                sum += images[((i64)down * width + across) * channels + k / each] *
                       weight[(r * kernel_width + s) * outputs + k];
            }
        }
        row[n] = sum;
    }
}

// Writes or adds the gradients of the pixels of row `blockIdx.x` of all images.
KERNEL conv2d_depthwise_x(const float *restrict grad, const float *restrict weight, float *restrict grad_x, int height,
                          int width, int channels, int out_height, int out_width, int kernel_height, int kernel_width,
                          int stride, int padding, int dilation, int outputs, int adds) {
    int image = blockIdx.x / height, y = blockIdx.x % height, each = outputs / channels;
    const float *images = grad + (i64)image * out_height * out_width * outputs;
    float *row = grad_x + (i64)blockIdx.x * width * channels;
    for (int n = blockIdx.y * blockDim.x + threadIdx.x; n < width * channels; n += gridDim.y * blockDim.x) {
        int x = n / channels, c = n - x * channels;
        float sum = 0.0f;
        for (int r = 0; r < kernel_height; r++) {
            int below = y + padding - r * dilation, i = below / stride;
            if (below < 0 || i * stride != below || i >= out_height) continue;
            for (int s = 0; s < kernel_width; s++) {
                int right = x + padding - s * dilation, j = right / stride;
                if (right < 0 || j * stride != right || j >= out_width) continue;
                const float *from = images + ((i64)i * out_width + j) * outputs + c * each;
                const float *taps = weight + (r * kernel_width + s) * outputs + c * each;
                for (int k = 0; k < each; k++) sum += from[k] * taps[k];
            }
        }
        WRITE(adds, row[n], sum);
    }
}

// Partial gradients of the weight: of tap `blockIdx.z` for 32 results from 32 `blockIdx.y` on, over the `rows_of_piece`
// rows of results of all images from piece `blockIdx.x` on. Eight warps share the columns; their sums are added in order.
KERNEL conv2d_depthwise_weight(const float *restrict x, const float *restrict grad, float *restrict partials, int rows,
                               int rows_of_piece, int height, int width, int channels, int out_height, int out_width,
                               int kernel_height, int kernel_width, int stride, int padding, int dilation,
                               int outputs) {
    SHARED(float, sums, [256]);
    int k = blockIdx.y * 32 + threadIdx.x % 32, warp = threadIdx.x / 32, each = outputs / channels;
    int r = blockIdx.z / kernel_width, s = blockIdx.z % kernel_width;
    int first = blockIdx.x * rows_of_piece, last = min(first + rows_of_piece, rows);
    float sum = 0.0f;
    for (int row = first; row < last && k < outputs; row++) {
        int down = row % out_height * stride + r * dilation - padding;
        if (down < 0 || down >= height) continue;
        const float *pixels = x + ((i64)(row / out_height) * height + down) * width * channels + k / each;
        const float *results = grad + (i64)row * out_width * outputs + k;
        for (int j = warp; j < out_width; j += 8) {
            int across = j * stride + s * dilation - padding;
            if (across >= 0 && across < width) sum += pixels[across * channels] * results[j * outputs];
        }
    }
    sums[threadIdx.x] = sum;
    block_wait();
    if (warp || k >= outputs) return;
    for (int other = 1; other < 8; other++) sum += sums[other * 32 + threadIdx.x];
    partials[((i64)blockIdx.x * gridDim.z + blockIdx.z) * outputs + k] = sum;
}

// The sum of `pieces` partial gradients of `n` values each.
KERNEL conv2d_depthwise_sum(const float *restrict partials, float *restrict grad_weight, i64 n, int pieces, int adds) {
    FOR_EACH(i, n) {
        float sum = 0.0f;
        for (int piece = 0; piece < pieces; piece++) sum += partials[piece * n + i];
        WRITE(adds, grad_weight[i], sum);
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
                          int padded_channels, int padded_outputs, int rows, int is_bf16) {
    SHARED(float, tile, [32 * 33]);
    conv2d_load_weight(weight, tile, channels, outputs, padded_channels, rows);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        if (k < padded_outputs && row < rows)
            filter[(i64)k * rows + row] = float_to_half(tile[(threadIdx.x % 32) * 33 + i], is_bf16);
    }
}

// The inverse transform for the gradient of such weights, which replaces the gradient in our layout or is added to it.
DEVICE void conv2d_store_weight(const float *tile, float *grad_weight, int channels, int outputs, int padded_channels,
                                int rows, int adds) {
    block_wait();
    int k = blockIdx.y * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int row = blockIdx.x * 32 + i;
        int tap = row / padded_channels, c = row - tap * padded_channels;
        if (row < rows && c < channels && k < outputs)
            WRITE(adds, grad_weight[((i64)tap * channels + c) * outputs + k], tile[(threadIdx.x % 32) * 33 + i]);
    }
}

KERNEL conv2d_add_filter(const float *restrict grad, float *restrict grad_weight, int channels, int outputs,
                         int rows, int adds) {
    SHARED(float, tile, [32 * 33]);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        tile[i * 33 + threadIdx.x % 32] = k < outputs && row < rows ? grad[(i64)k * rows + row] : 0.0f;
    }
    conv2d_store_weight(tile, grad_weight, channels, outputs, channels, rows, adds);
}

KERNEL conv2d_add_filter_half(const half_t *restrict grad, float *restrict grad_weight, int channels, int outputs,
                              int padded_channels, int rows, int adds, int is_bf16) {
    SHARED(float, tile, [32 * 33]);
    int row = blockIdx.x * 32 + threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8) {
        int k = blockIdx.y * 32 + i;
        tile[i * 33 + threadIdx.x % 32] =
            k < outputs && row < rows ? half_to_float(grad[(i64)k * rows + row], is_bf16) : 0.0f;
    }
    conv2d_store_weight(tile, grad_weight, channels, outputs, padded_channels, rows, adds);
}

// Pixels rounded to 16 bits, with zeros for channels from `channels` to `padded`; `n` values of the result.
KERNEL conv2d_halve(const float *restrict x, half_t *restrict half, i64 n, u32 channels, u32 padded, int is_bf16) {
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
            if (i < n) half[i] = float_to_half(values[j], is_bf16);
        }
    }
}

// The inverse, `n` values of the result: with a bias (or null) instead of what stands in `y`, or added to it.
KERNEL conv2d_widen(const half_t *restrict half, const float *restrict bias, float *restrict y, i64 n, u32 channels,
                    u32 padded, int adds, int is_bf16) {
    u32 step = blockDim.x % channels, pixels = blockDim.x / channels;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 c = remainder_of(start, channels);
        i64 pixel = quotient_of(start, channels);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? half_to_float(half[pixel * padded + c], is_bf16) : 0.0f;
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
