// Batch norm of rows of `channels` values; every channel has its own mean, deviation, weight and bias.

// Mean and sum of squared deviations of each channel in each piece of rows. A thread computes one channel of one piece;
// neighbouring threads have neighbouring channels.
KERNEL batch_norm_partial_moments(const float *restrict x, float *restrict partial, i64 rows, u32 channels, u32 piece,
                                  u32 pieces) {
    FOR_EACH(i, (i64)pieces * channels) {
        i64 index = quotient_of(i, channels);
        u32 channel = (u32)(i - index * channels);
        i64 first = index * piece, end = first + piece < rows ? first + piece : rows;
        // Differences from the first value are small even if the mean is large.
        float start = x[first * channels + channel], sum = 0.0f, squares = 0.0f;
        for (i64 row = first; row < end; row++) {
            float distance = x[row * channels + channel] - start;
            sum += distance;
            squares += distance * distance;
        }
        float mean = sum / (float)(end - first);
        partial[i] = start + mean;
        partial[(i64)pieces * channels + i] = squares - sum * mean;
    }
}

// Number of rows of piece `index`; the last piece may be shorter.
DEVICE double batch_norm_rows_of(u32 index, i64 rows, u32 piece) {
    i64 left = rows - (i64)index * piece;
    return (double)(left < piece ? left : piece);
}

// Mean and variance of a channel from those of its pieces (Chan et al. 1983), in double precision: the weighted mean of
// the pieces' means, and the pieces' sums of squared deviations plus, for every piece, its rows times the squared
// deviation of its mean. One block per channel, whose threads share the pieces: with one thread per channel, this
// kernel took longer than everything else.
KERNEL batch_norm_moments(const float *restrict partial, float *restrict mean, float *restrict rstd,
                          float *restrict variance, i64 rows, u32 channels, u32 piece, u32 pieces, float eps) {
    SHARED(double, scratch, [32]);
    u32 channel = blockIdx.x;
    double sum = 0.0, squares = 0.0;
    for (u32 index = threadIdx.x; index < pieces; index += blockDim.x) {
        sum += batch_norm_rows_of(index, rows, piece) * (double)partial[(i64)index * channels + channel];
    }
    double own = block_sum_double(sum, scratch) / (double)rows;
    for (u32 index = threadIdx.x; index < pieces; index += blockDim.x) {
        i64 at = (i64)index * channels + channel;
        double distance = (double)partial[at] - own;
        squares += (double)partial[(i64)pieces * channels + at];
        squares += batch_norm_rows_of(index, rows, piece) * distance * distance;
    }
    squares = block_sum_double(squares, scratch);
    if (threadIdx.x == 0) {
        mean[channel] = (float)own;
        rstd[channel] = (float)(1.0 / sqrt(squares / (double)rows + (double)eps));
        variance[channel] = (float)(squares / (rows > 1 ? (double)rows - 1.0 : 1.0));
    }
}

KERNEL batch_norm_rstd(const float *restrict variance, float *restrict rstd, i64 n, float eps) {
    FOR_EACH(i, n) rstd[i] = (float)(1.0 / sqrt((double)variance[i] + (double)eps));
}

// `y = act(norm(x) + shift)`. Unless `half` is null, also stores x in 16 bits there, for the backward pass.
KERNEL batch_norm_forward(const float *restrict x, half_t *restrict half, const float *restrict mean,
                          const float *restrict rstd, const float *restrict gamma, const float *restrict beta,
                          const float *restrict shift, float *restrict y, i64 n, u32 channels, int activation,
                          int is_bf16) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            u32 c = remainder_of(i, channels);
            values[j] = 0.0f;
            if (i < n) {
                values[j] = (x[i] - mean[c]) * (gamma[c] * rstd[c]) + beta[c];
                if (shift) values[j] += shift[i];
            }
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i >= n) continue;
            if (half) half[i] = float_to_half(x[i], is_bf16);
            y[i] = activate(activation, values[j]);
        }
    }
}

// The activation's derivative, computed from the activation's result y.
DEVICE float batch_norm_slope(int activation, float y) {
    switch (activation) {
    case TANH: return 1.0f - y * y;
    case SIGMOID: return y * (1.0f - y);
    default: return activate_slope(activation, y);
    }
}

// Multiplies `grad` by the activation's derivative; sums the products, dz, and `dz * (x - mean)` over one piece of
// rows. x, y and shift are each read in f32, or in 16 bits if `half`, `y_half` or `shift_half` is not null.
KERNEL batch_norm_partial_sums(float *restrict grad, const float *restrict x, const half_t *restrict half,
                               const float *restrict y, const half_t *restrict y_half, const float *restrict mean,
                               const float *restrict rstd, const float *restrict gamma, const float *restrict beta,
                               const float *restrict shift, const half_t *restrict shift_half, float *restrict partial,
                               i64 rows, u32 channels, u32 piece, u32 pieces, int activation, int is_bf16) {
    FOR_EACH(i, (i64)pieces * channels) {
        i64 index = quotient_of(i, channels);
        u32 c = (u32)(i - index * channels);
        i64 first = index * piece, end = first + piece < rows ? first + piece : rows;
        float own = mean[c], factor = gamma[c] * rstd[c], bias = beta[c], sum = 0.0f, products = 0.0f;
        for (i64 row = first; row < end; row++) {
            i64 at = row * channels + c;
            float centred = value_at(x, half, at, is_bf16) - own, dz = grad[at];
            if (activation != IDENTITY) {
                if (y || y_half) {
                    dz *= batch_norm_slope(activation, value_at(y, y_half, at, is_bf16));
                } else {
                    float more = shift || shift_half ? value_at(shift, shift_half, at, is_bf16) : 0.0f;
                    dz *= activate_slope(activation, centred * factor + bias + more);
                }
                grad[at] = dz;
            }
            sum += dz;
            products += dz * centred;
        }
        partial[i] = sum;
        partial[(i64)pieces * channels + i] = products;
    }
}

// Adds the sums of all pieces. One block per channel, whose threads share the pieces.
KERNEL batch_norm_sums(const float *restrict partial, const float *restrict rstd, float *restrict of_beta,
                       float *restrict of_gamma, u32 channels, u32 pieces) {
    SHARED(double, scratch, [32]);
    u32 channel = blockIdx.x;
    double sum = 0.0, products = 0.0;
    for (u32 index = threadIdx.x; index < pieces; index += blockDim.x) {
        i64 at = (i64)index * channels + channel;
        sum += (double)partial[at];
        products += (double)partial[(i64)pieces * channels + at];
    }
    sum = block_sum_double(sum, scratch);
    products = block_sum_double(products, scratch);
    if (threadIdx.x == 0) {
        of_beta[channel] = (float)sum;
        of_gamma[channel] = (float)(products * (double)rstd[channel]);
    }
}

// `dx = gamma rstd (dz - of_beta / rows - (x - mean) rstd of_gamma / rows)`, without the last two terms if `of_beta` is
// null. Written to `into`, or over `grad` (dz) if `into` is null.
KERNEL batch_norm_backward(float *grad, float *into, const float *restrict x, const half_t *restrict half,
                           const float *restrict mean, const float *restrict rstd, const float *restrict gamma,
                           const float *restrict of_beta, const float *restrict of_gamma, i64 n, i64 rows, u32 channels,
                           int is_bf16) {
    float share = 1.0f / (float)rows;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            u32 c = remainder_of(i, channels);
            values[j] = 0.0f;
            if (i < n) {
                float factor = gamma[c] * rstd[c];
                values[j] = factor * grad[i];
                if (of_beta) {
                    values[j] -= factor * of_beta[c] * share;
                    float centred = value_at(x, half, i, is_bf16) - mean[c];
                    values[j] -= factor * rstd[c] * of_gamma[c] * share * centred;
                }
            }
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) (into ? into : grad)[i] = values[j];
        }
    }
}
