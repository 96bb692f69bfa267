// Linear layers without their products: bias, activation, and sums over rows.

// The column of the value `step` values after one in `column`; `step` must be below `columns`.
DEVICE u32 linear_next_column(u32 column, u32 step, u32 columns) {
    column += step;
    return column < columns ? column : column - columns;
}

// `y = act(y + bias)`; without a bias if it is null.
KERNEL linear_finish(const float *restrict bias, float *restrict y, i64 n, u32 columns, int activation) {
    u32 step = blockDim.x % columns;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 column = remainder_of(start, columns);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? y[i] : 0.0f;
            if (bias) values[j] += bias[column];
            column = linear_next_column(column, step, columns);
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = activate(activation, values[j]);
        }
    }
}

// `before += bias; y = act(before)`; without a bias if it is null. If `half` is not null, `before + bias` is stored
// there in 16 bits and `before` stays as it is.
KERNEL linear_finish_keeping(const float *restrict bias, float *restrict before, half_t *restrict half,
                             float *restrict y, i64 n, u32 columns, int activation, int is_bf16) {
    u32 step = blockDim.x % columns;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 column = remainder_of(start, columns);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? before[i] : 0.0f;
            if (bias) values[j] += bias[column];
            column = linear_next_column(column, step, columns);
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) {
                if (half) half[i] = float_to_half(values[j], is_bf16);
                else if (bias) before[i] = values[j];
                y[i] = activate(activation, values[j]);
            }
        }
    }
}

// `y = residual + bias`.
KERNEL linear_start(const float *restrict residual, const float *restrict bias, float *restrict y, i64 n,
                    u32 columns) {
    u32 step = blockDim.x % columns;
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        u32 column = remainder_of(start, columns);
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = (i < n ? residual[i] : 0.0f) + bias[column];
            column = linear_next_column(column, step, columns);
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = values[j];
        }
    }
}

// Copies rectangles; row y of the grid copies rectangle y. For each rectangle `table` has seven numbers: address of
// source and target, rows, columns, distance between rows of source and target, and whether it is added to the target.
KERNEL linear_copy(const u64 *restrict table) {
    const u64 *own = table + 7 * (i64)blockIdx.y;
    const float *restrict from = (const float *)own[0];
    float *restrict to = (float *)own[1];
    u32 columns = (u32)own[3];
    i64 n = (i64)own[2] * columns, from_step = (i64)own[4], to_step = (i64)own[5];
    int adds = (int)own[6];
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            values[j] = i < n ? from[quotient_of(i, columns) * from_step + remainder_of(i, columns)] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) WRITE(adds, to[quotient_of(i, columns) * to_step + remainder_of(i, columns)], values[j]);
        }
    }
}

// `grad = grad_output * act'(before)`; `before` is read in 16 bits from `before_half` if that is not null.
KERNEL linear_activation_backward(const float *restrict before, const half_t *restrict before_half,
                                  const float *restrict grad_output, float *restrict grad, i64 n, int activation,
                                  int is_bf16) {
    FOR_EACH_TILE(start, n) {
        float x[TILE], dy[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            x[j] = i < n ? value_at(before, before_half, i, is_bf16) : 0.0f;
            dy[j] = i < n ? grad_output[i] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) grad[i] = dy[j] * activate_slope(activation, x[j]);
        }
    }
}

// Sums of columns: block (x, y) sums `width` columns over `piece` rows into row y of `sums`; written or, with `adds`,
// added. A thread sums every `blockDim.x / width`-th row of one column; the threads' sums are added as a tree. If
// `before` or (in 16 bits) `before_half` is not null, `values * act'(before)` is summed and also stored in `grad`. If
// `half` is not null, the summed values are also stored there in 16 bits.
KERNEL BLOCK_OF(1024)
linear_column_sums(const float *restrict values, const float *restrict before,
                   const half_t *restrict before_half, float *restrict grad, half_t *restrict half,
                   float *restrict sums, i64 rows, i64 columns, int width, i64 piece, int adds, int activation,
                   int is_bf16) {
    SHARED(float, scratch, [1024]);
    int lanes = blockDim.x / width, lane = threadIdx.x / width;
    i64 column = (i64)blockIdx.x * width + threadIdx.x % width;
    i64 row = blockIdx.y * piece + lane, end = (blockIdx.y + 1) * piece < rows ? (blockIdx.y + 1) * piece : rows;
    if (lane >= lanes || column >= columns) row = end;
    float sum = 0.0f;
    if (before || before_half) {
        ROLLED
        for (; row < end; row += 4 * lanes) {
            float next[4], x[4];
            for (int j = 0; j < 4; j++) {
                i64 i = (row + j * lanes) * columns + column;
                next[j] = row + j * lanes < end ? values[i] : 0.0f;
                x[j] = row + j * lanes < end ? value_at(before, before_half, i, is_bf16) : 0.0f;
            }
            for (int j = 0; j < 4; j++) {
                next[j] *= activate_slope(activation, x[j]);
                sum += next[j];
                if (row + j * lanes < end) {
                    i64 i = (row + j * lanes) * columns + column;
                    grad[i] = next[j];
                    if (half) half[i] = float_to_half(next[j], is_bf16);
                }
            }
        }
    } else {
        ROLLED
        for (; row < end; row += 8 * lanes) {
            float next[8];
            for (int j = 0; j < 8; j++)
                next[j] = row + j * lanes < end ? values[(row + j * lanes) * columns + column] : 0.0f;
            for (int j = 0; j < 8; j++) {
                sum += next[j];
                if (half && row + j * lanes < end)
                    half[(row + j * lanes) * columns + column] = float_to_half(next[j], is_bf16);
            }
        }
    }
    scratch[threadIdx.x] = sum;
    for (int count = lanes; count > 1;) {
        int half = (count + 1) / 2;
        block_wait();
        if (lane + half < count) scratch[threadIdx.x] += scratch[threadIdx.x + half * width];
        count = half;
    }
    if (lane == 0 && column < columns) {
        float *to = sums + blockIdx.y * columns + column;
        *to = adds ? *to + scratch[threadIdx.x] : scratch[threadIdx.x];
    }
}
