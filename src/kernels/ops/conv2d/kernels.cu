// Convolution. Images are (B, H, W, C), weights (kh, kw, C/groups, K), windows as rows of a matrix
// (B H' W', groups kh kw C/groups).

// Copies the windows (im2col) of result row `blockIdx.x`, counted over all images, in filter row `blockIdx.y`. The
// channels of a tap are contiguous in the image and, within a group, in the matrix, so that neighbouring threads access
// neighbouring values of both.
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

// The gradient of the pixels of input row `blockIdx.x`: the sum over all windows that contain a pixel, in the order of
// the windows' rows and columns; written or, with `adds`, added. `windows` are those of the images from `first_image`
// on.
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

// Depthwise: every input channel is a group with `each` results, so that result channel k reads input channel k / each.

// The results of row `blockIdx.x`, counted over all images, plus the bias unless it is null.
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

// The gradients of the pixels of row `blockIdx.x`, counted over all images; written or, with `adds`, added.
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

// Partial gradients of the weight: of tap `blockIdx.z` for the 32 result channels from 32 `blockIdx.y` on, summed over
// piece `blockIdx.x`, which has `rows_of_piece` of the result rows of all images. The columns of a row are shared by
// eight warps, whose sums are added in order.
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

// The sum of `pieces` partial gradients of `n` values each; written or, with `adds`, added.
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

// cuDNN's weights are (K', kh, kw, C'): the transpose of our matrix (kh kw C, K), with zeros for channels from C and K
// on. Each block of 256 threads loads one 32 x 32 part, (x, y) of the grid, of (kh kw C', K'). The rows of `tile` are
// 33 values apart, so that the values of a column lie in different banks of shared memory.
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

// The inverse of `conv2d_load_weight`, for the gradient in cuDNN's layout: writes `tile` to the gradient in our layout
// or, with `adds`, adds it.
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

// Rounds pixels to 16 bits and pads them with zeros from `channels` to `padded` channels; `n` is the number of values
// of `half`.
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

// The inverse of `conv2d_halve`, plus the bias unless it is null; written to `y` or, with `adds`, added. `n` is the
// number of values of `y`.
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
