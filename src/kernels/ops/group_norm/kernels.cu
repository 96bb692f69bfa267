// Group norm. A block computes one group of one image or, where groups are large, a piece of the group's positions:
// block (g, p) computes piece p of group g of `batch * groups`. As long as a group has no more channels than the block
// has threads, each thread stays in one channel, so that neighbouring threads read neighbouring values.

// Number of values that a thread loads before it uses the first: enough loads in flight, with few enough registers for
// blocks of 1024 threads.
enum { GROUP_NORM_AHEAD = 4, GROUP_NORM_FAR_AHEAD = 8 };

// The values of a group that one thread processes: channels `column`, `column + columns` …, at positions `first`,
// `first + lanes` … below `end`. `lane` is the thread's index among the `lanes` threads of a channel.
typedef struct {
    int column, columns, first, end, lane, lanes;
} group_norm_share;

DEVICE group_norm_share group_norm_own(int positions, int width, int piece) {
    group_norm_share own;
    own.columns = min(width, (int)blockDim.x);
    own.lanes = (int)blockDim.x / own.columns;
    own.column = (int)threadIdx.x % own.columns;
    own.lane = (int)threadIdx.x / own.columns;
    int start = (int)blockIdx.y * piece;
    own.end = min(start + piece, positions);
    own.first = own.lane < own.lanes ? start + own.lane : own.end;
    return own;
}

// Offset of this block's group in an array of images.
DEVICE i64 group_norm_start(int positions, int channels, int width) {
    int groups = channels / width;
    return (i64)(blockIdx.x / groups) * positions * channels + (int)(blockIdx.x % groups) * width;
}

// Sum over a thread's values of `x - mean` or, if `is_square`, of its square.
DEVICE float group_norm_moment(const float *restrict x, group_norm_share own, int channels, int width, float mean,
                               int is_square) {
    float sum = 0.0f;
    for (int c = own.column; c < width; c += own.columns) {
        ROLLED
        for (int p = own.first; p < own.end; p += GROUP_NORM_FAR_AHEAD * own.lanes) {
            float next[GROUP_NORM_FAR_AHEAD];
            for (int j = 0; j < GROUP_NORM_FAR_AHEAD; j++) {
                int q = p + j * own.lanes;
                next[j] = q < own.end ? x[(i64)q * channels + c] - mean : 0.0f;
            }
            for (int j = 0; j < GROUP_NORM_FAR_AHEAD; j++) sum += is_square ? next[j] * next[j] : next[j];
        }
    }
    return sum;
}

// Mean of the values of a block, and sum of their squared deviations from the mean. Two passes over the values, since
// the mean square minus the square of the mean would cancel.
DEVICE float group_norm_moments(const float *restrict x, group_norm_share own, int channels, int width, float count,
                                float *squares, float *scratch) {
    float mean = block_sum(group_norm_moment(x, own, channels, width, 0.0f, 0), scratch) / count;
    *squares = block_sum(group_norm_moment(x, own, channels, width, mean, 1), scratch);
    return mean;
}

DEVICE float group_norm_inverse(float squares, float count) { return 1.0f / sqrtf(squares / count + 1e-5f); }

// For a thread's values: `y = act((x - mean) * rstd * gamma + beta + shift)`; x is also stored in 16 bits in `half`
// unless that is null.
DEVICE void group_norm_write(const float *restrict x, const float *restrict gamma, const float *restrict beta,
                             const float *restrict shift, half_t *restrict half, float *restrict y,
                             group_norm_share own, int channels, int width, float mean, float rstd, int activation,
                             int is_bf16) {
    for (int c = own.column; c < width; c += own.columns) {
        float scale = gamma[c] * rstd, offset = shift ? beta[c] + shift[c] : beta[c];
        ROLLED
        for (int p = own.first; p < own.end; p += GROUP_NORM_AHEAD * own.lanes) {
            float next[GROUP_NORM_AHEAD];
            for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
                int q = p + j * own.lanes;
                next[j] = q < own.end ? x[(i64)q * channels + c] : 0.0f;
            }
            for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
                int q = p + j * own.lanes;
                if (q >= own.end) continue;
                y[(i64)q * channels + c] = activate(activation, (next[j] - mean) * scale + offset);
                if (half) half[(i64)q * channels + c] = float_to_half(next[j], is_bf16);
            }
        }
    }
}

// The whole forward pass, for groups of a single piece.
KERNEL BLOCK_OF(1024)
group_norm_forward(const float *restrict x, const float *restrict gamma, const float *restrict beta,
                   const float *restrict shift, half_t *restrict half, float *restrict statistics, float *restrict y,
                   int positions, int channels, int width, int activation, int is_bf16) {
    SHARED(float, scratch, [32]);
    group_norm_share own = group_norm_own(positions, width, positions);
    i64 start = group_norm_start(positions, channels, width);
    int groups = channels / width, c = (int)(blockIdx.x % groups) * width;
    float squares, count = (float)positions * (float)width;
    float mean = group_norm_moments(x + start, own, channels, width, count, &squares, scratch);
    float rstd = group_norm_inverse(squares, count);
    if (threadIdx.x == 0) {
        statistics[2 * blockIdx.x] = mean;
        statistics[2 * blockIdx.x + 1] = rstd;
    }
    if (shift) shift += (i64)(blockIdx.x / groups) * channels + c;
    if (half) half += start;
    group_norm_write(x + start, gamma + c, beta + c, shift, half, y + start, own, channels, width, mean, rstd,
                     activation, is_bf16);
}

// First launch for groups in pieces: mean and sum of squared deviations of each piece into `moments`, (batch groups,
// pieces, 2).
KERNEL BLOCK_OF(1024)
group_norm_measure(const float *restrict x, float *restrict moments, int positions, int channels, int width,
                   int piece) {
    SHARED(float, scratch, [32]);
    group_norm_share own = group_norm_own(positions, width, piece);
    i64 start = group_norm_start(positions, channels, width);
    float squares, count = (float)min(piece, positions - (int)blockIdx.y * piece) * (float)width;
    float mean = group_norm_moments(x + start, own, channels, width, count, &squares, scratch);
    if (threadIdx.x == 0) {
        float *to = moments + 2 * ((i64)blockIdx.x * gridDim.y + blockIdx.y);
        to[0] = mean;
        to[1] = squares;
    }
}

// Second launch for groups in pieces: each block combines the moments of its group's pieces, then writes its own piece.
KERNEL BLOCK_OF(1024)
group_norm_apply(const float *restrict x, const float *restrict gamma, const float *restrict beta,
                 const float *restrict shift, half_t *restrict half, const float *restrict moments,
                 float *restrict statistics, float *restrict y, int positions, int channels, int width, int piece,
                 int activation, int is_bf16) {
    SHARED(float, scratch, [32]);
    int groups = channels / width, c = (int)(blockIdx.x % groups) * width, pieces = gridDim.y;
    float count = (float)positions * (float)width, sum = 0.0f, squares = 0.0f;
    moments += (i64)blockIdx.x * 2 * pieces;
    for (int p = threadIdx.x; p < pieces; p += blockDim.x)
        sum += moments[2 * p] * ((float)min(piece, positions - p * piece) * (float)width);
    float mean = block_sum(sum, scratch) / count;
    for (int p = threadIdx.x; p < pieces; p += blockDim.x) {
        float apart = moments[2 * p] - mean;
        squares += moments[2 * p + 1] + apart * apart * ((float)min(piece, positions - p * piece) * (float)width);
    }
    float rstd = group_norm_inverse(block_sum(squares, scratch), count);
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        statistics[2 * blockIdx.x] = mean;
        statistics[2 * blockIdx.x + 1] = rstd;
    }
    group_norm_share own = group_norm_own(positions, width, piece);
    i64 start = group_norm_start(positions, channels, width);
    if (shift) shift += (i64)(blockIdx.x / groups) * channels + c;
    if (half) half += start;
    group_norm_write(x + start, gamma + c, beta + c, shift, half, y + start, own, channels, width, mean, rstd,
                     activation, is_bf16);
}

// What the backward pass needs for the group of a block; x is read in 16 bits from `half` if that is not null.
typedef struct {
    const float *x, *dy, *gamma, *beta, *shift;
    const half_t *half;
    float mean, rstd;
    int channels, width, activation, is_bf16;
} group_norm_group;

DEVICE group_norm_group group_norm_at(const float *x, const half_t *half, const float *dy, const float *gamma,
                                      const float *beta, const float *shift, const float *statistics, int positions,
                                      int channels, int width, int activation, int is_bf16) {
    group_norm_group at;
    at.is_bf16 = is_bf16;
    i64 start = group_norm_start(positions, channels, width);
    int groups = channels / width, c = (int)(blockIdx.x % groups) * width;
    at.half = half ? half + start : half;
    at.x = x + start, at.dy = dy + start, at.gamma = gamma + c, at.beta = beta + c;
    at.shift = shift ? shift + (i64)(blockIdx.x / groups) * channels + c : shift;
    at.mean = statistics[2 * blockIdx.x], at.rstd = statistics[2 * blockIdx.x + 1];
    at.channels = channels, at.width = width, at.activation = activation;
    return at;
}

DEVICE float group_norm_x(group_norm_group at, i64 i) { return value_at(at.x, at.half, i, at.is_bf16); }

// With `dz = dy * act'(z)`: the sums of dz (`plain`) and of `dz * (x - mean) * rstd` (`along`) over a thread's
// positions of channel c.
DEVICE void group_norm_gradients(group_norm_group at, group_norm_share own, int c, float *plain, float *along) {
    float scale = at.gamma[c] * at.rstd, offset = at.shift ? at.beta[c] + at.shift[c] : at.beta[c];
    *plain = *along = 0.0f;
    ROLLED
    for (int p = own.first; p < own.end; p += GROUP_NORM_AHEAD * own.lanes) {
        float x[GROUP_NORM_AHEAD], dy[GROUP_NORM_AHEAD];
        for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
            int q = p + j * own.lanes;
            x[j] = q < own.end ? group_norm_x(at, (i64)q * at.channels + c) - at.mean : 0.0f;
            dy[j] = q < own.end ? at.dy[(i64)q * at.channels + c] : 0.0f;
        }
        for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
            float dz = dy[j] * activate_slope(at.activation, x[j] * scale + offset);
            *plain += dz;
            *along += dz * (x[j] * at.rstd);
        }
    }
}

// Sums `plain` and `along` over the threads of one channel; lane 0 has the results. The scratch arrays have one value
// per thread.
DEVICE void group_norm_add_lanes(group_norm_share own, float *plain, float *along, float *plain_scratch,
                                 float *along_scratch) {
    if (own.lanes == 1) return;
    plain_scratch[threadIdx.x] = *plain;
    along_scratch[threadIdx.x] = *along;
    for (int count = own.lanes; count > 1;) {
        int half = (count + 1) / 2;
        block_wait();
        if (own.lane + half < count) {
            plain_scratch[threadIdx.x] += plain_scratch[threadIdx.x + half * own.columns];
            along_scratch[threadIdx.x] += along_scratch[threadIdx.x + half * own.columns];
        }
        count = half;
    }
    *plain = plain_scratch[threadIdx.x];
    *along = along_scratch[threadIdx.x];
}

// For a thread's values: `grad_x = rstd * (gamma dz - plain - (x - mean) rstd along)`, written or, with `adds`, added.
// plain and along are the means over the group of `gamma dz` and of `gamma dz (x - mean) rstd`.
DEVICE void group_norm_write_grad(group_norm_group at, group_norm_share own, float plain, float along,
                                  float *restrict grad_x, int adds) {
    for (int c = own.column; c < at.width; c += own.columns) {
        float scale = at.gamma[c] * at.rstd, offset = at.shift ? at.beta[c] + at.shift[c] : at.beta[c];
        ROLLED
        for (int p = own.first; p < own.end; p += GROUP_NORM_AHEAD * own.lanes) {
            float x[GROUP_NORM_AHEAD], dy[GROUP_NORM_AHEAD], grad[GROUP_NORM_AHEAD];
            for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
                int q = p + j * own.lanes;
                i64 i = (i64)q * at.channels + c;
                x[j] = q < own.end ? group_norm_x(at, i) - at.mean : 0.0f;
                dy[j] = q < own.end ? at.dy[i] : 0.0f;
                grad[j] = adds && q < own.end ? grad_x[i] : 0.0f;
            }
            for (int j = 0; j < GROUP_NORM_AHEAD; j++) {
                int q = p + j * own.lanes;
                float dz = dy[j] * activate_slope(at.activation, x[j] * scale + offset);
                grad[j] += scale * dz - at.rstd * (plain + x[j] * at.rstd * along);
                if (q < own.end) grad_x[(i64)q * at.channels + c] = grad[j];
            }
        }
    }
}

// Index in `sums`, (batch, 2, channels), of the sum of dz of channel c of this block's group.
DEVICE i64 group_norm_sum_place(int channels, int width, int c) {
    int groups = channels / width;
    return (i64)(blockIdx.x / groups) * 2 * channels + (int)(blockIdx.x % groups) * width + c;
}

// The whole backward pass for groups of a single piece: sums over positions into `sums` and, unless `grad_x` is null,
// the gradient of x.
KERNEL BLOCK_OF(1024)
group_norm_backward(const float *restrict x, const half_t *restrict half, const float *restrict dy,
                    const float *restrict gamma, const float *restrict beta, const float *restrict shift,
                    const float *restrict statistics, float *restrict sums, float *restrict grad_x, int adds,
                    int positions, int channels, int width, int activation, int is_bf16) {
    SHARED(float, scratch, [32]);
    SHARED(float, plain_scratch, [1024]);
    SHARED(float, along_scratch, [1024]);
    group_norm_share own = group_norm_own(positions, width, positions);
    group_norm_group at =
        group_norm_at(x, half, dy, gamma, beta, shift, statistics, positions, channels, width, activation, is_bf16);
    float plain_sum = 0.0f, along_sum = 0.0f;
    for (int c = own.column; c < width; c += own.columns) {
        float plain, along;
        group_norm_gradients(at, own, c, &plain, &along);
        group_norm_add_lanes(own, &plain, &along, plain_scratch, along_scratch);
        if (own.lane > 0) continue;
        i64 place = group_norm_sum_place(channels, width, c);
        sums[place] = plain;
        sums[place + channels] = along;
        plain_sum += at.gamma[c] * plain;
        along_sum += at.gamma[c] * along;
    }
    if (!grad_x) return;
    float count = (float)positions * (float)width;
    float plain = block_sum(plain_sum, scratch) / count, along = block_sum(along_sum, scratch) / count;
    group_norm_write_grad(at, own, plain, along, grad_x + group_norm_start(positions, channels, width), adds);
}

// First backward launch for groups in pieces: the sums of each piece into `parts`, (batch groups, pieces, 2, width).
KERNEL BLOCK_OF(1024)
group_norm_backward_measure(const float *restrict x, const half_t *restrict half, const float *restrict dy,
                            const float *restrict gamma, const float *restrict beta, const float *restrict shift,
                            const float *restrict statistics, float *restrict parts, int positions, int channels,
                            int width, int piece, int activation, int is_bf16) {
    SHARED(float, plain_scratch, [1024]);
    SHARED(float, along_scratch, [1024]);
    group_norm_share own = group_norm_own(positions, width, piece);
    group_norm_group at =
        group_norm_at(x, half, dy, gamma, beta, shift, statistics, positions, channels, width, activation, is_bf16);
    parts += ((i64)blockIdx.x * gridDim.y + blockIdx.y) * 2 * width;
    for (int c = own.column; c < width; c += own.columns) {
        float plain, along;
        group_norm_gradients(at, own, c, &plain, &along);
        group_norm_add_lanes(own, &plain, &along, plain_scratch, along_scratch);
        if (own.lane > 0) continue;
        parts[c] = plain;
        parts[width + c] = along;
    }
}

// Second backward launch for groups in pieces: each block combines the sums of its group's pieces, then writes the
// gradient of its own piece; the group's first block writes `sums`.
KERNEL BLOCK_OF(1024)
group_norm_backward_apply(const float *restrict x, const half_t *restrict half, const float *restrict dy,
                          const float *restrict gamma, const float *restrict beta, const float *restrict shift,
                          const float *restrict statistics, const float *restrict parts, float *restrict sums,
                          float *restrict grad_x, int adds, int positions, int channels, int width, int piece,
                          int activation, int is_bf16) {
    SHARED(float, scratch, [32]);
    SHARED(float, plain_scratch, [1024]);
    SHARED(float, along_scratch, [1024]);
    group_norm_share own = group_norm_own(positions, width, piece);
    group_norm_group at =
        group_norm_at(x, half, dy, gamma, beta, shift, statistics, positions, channels, width, activation, is_bf16);
    int pieces = gridDim.y;
    float plain_sum = 0.0f, along_sum = 0.0f;
    parts += (i64)blockIdx.x * pieces * 2 * width;
    for (int c = own.column; c < width; c += own.columns) {
        float plain = 0.0f, along = 0.0f;
        for (int p = own.lane < own.lanes ? own.lane : pieces; p < pieces; p += own.lanes) {
            plain += parts[(i64)p * 2 * width + c];
            along += parts[(i64)p * 2 * width + width + c];
        }
        group_norm_add_lanes(own, &plain, &along, plain_scratch, along_scratch);
        if (own.lane > 0) continue;
        i64 place = group_norm_sum_place(channels, width, c);
        if (blockIdx.y == 0) {
            sums[place] = plain;
            sums[place + channels] = along;
        }
        plain_sum += at.gamma[c] * plain;
        along_sum += at.gamma[c] * along;
    }
    if (!grad_x) return;
    float count = (float)positions * (float)width;
    float plain = block_sum(plain_sum, scratch) / count, along = block_sum(along_sum, scratch) / count;
    group_norm_write_grad(at, own, plain, along, grad_x + group_norm_start(positions, channels, width), adds);
}

// Writes or adds those gradients that are not null, from `sums`, (batch, 2, channels): gamma's and beta's are sums over
// the batch; the shift's are the sums of dz. A block has `width` channels. The threads of a channel write the shift's
// gradients of their samples; then the first of them writes gamma's, then beta's: in this order, since two of the three
// may be the same array.
KERNEL BLOCK_OF(1024)
group_norm_collect(const float *restrict sums, float *shift, int adds_shift, float *gamma, int adds_gamma, float *beta,
                   int adds_beta, int batch, int channels, int width) {
    SHARED(float, plain_scratch, [1024]);
    SHARED(float, along_scratch, [1024]);
    group_norm_share own;
    own.columns = width, own.lanes = (int)blockDim.x / width;
    own.lane = (int)threadIdx.x / width, own.column = (int)threadIdx.x % width;
    int c = (int)blockIdx.x * width + own.column;
    own.first = c < channels && own.lane < own.lanes ? own.lane : batch, own.end = batch;
    float plain = 0.0f, along = 0.0f;
    for (int b = own.first; b < own.end; b += own.lanes) {
        const float *from = sums + (i64)b * 2 * channels + c;
        plain += from[0];
        along += from[channels];
        if (shift) WRITE(adds_shift, shift[(i64)b * channels + c], from[0]);
    }
    group_norm_add_lanes(own, &plain, &along, plain_scratch, along_scratch);
    if (own.lane > 0 || c >= channels) return;
    if (gamma) WRITE(adds_gamma, gamma[c], along);
    if (beta) WRITE(adds_beta, beta[c], plain);
}
