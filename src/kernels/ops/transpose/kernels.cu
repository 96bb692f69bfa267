// Exchange of two dimensions, `y[o, c, r, i] = x[o, r, c, i]`, or added to y.

enum { TRANSPOSE_SIDE = 32 };

// Block x moves one tile of one matrix of `rows` x `columns`, through shared memory, so that reads and writes are of
// neighbouring values. The last column of the shared array keeps its columns in different banks.
KERNEL transpose_tiles(const float *restrict x, float *restrict y, u32 rows, u32 columns, int adds) {
    SHARED(float, tile, [TRANSPOSE_SIDE][TRANSPOSE_SIDE + 1]);
    u32 across = (columns + TRANSPOSE_SIDE - 1) / TRANSPOSE_SIDE, down = (rows + TRANSPOSE_SIDE - 1) / TRANSPOSE_SIDE;
    u32 index = blockIdx.x % (across * down);
    u32 top = index / across * TRANSPOSE_SIDE, left = index % across * TRANSPOSE_SIDE;
    i64 offset = (i64)(blockIdx.x / (across * down)) * rows * columns;
    FOR_EACH_IN_BLOCK(i, TRANSPOSE_SIDE * TRANSPOSE_SIDE) {
        u32 row = (u32)i / TRANSPOSE_SIDE, column = (u32)i % TRANSPOSE_SIDE;
        if (top + row < rows && left + column < columns)
            tile[row][column] = x[offset + (i64)(top + row) * columns + left + column];
    }
    block_wait();
    FOR_EACH_IN_BLOCK(i, TRANSPOSE_SIDE * TRANSPOSE_SIDE) {
        u32 column = (u32)i / TRANSPOSE_SIDE, row = (u32)i % TRANSPOSE_SIDE;
        if (top + row < rows && left + column < columns) {
            i64 to = offset + (i64)(left + column) * rows + top + row;
            y[to] = adds ? y[to] + tile[row][column] : tile[row][column];
        }
    }
}

// One thread for each value of the result.
KERNEL transpose_runs(const float *restrict x, float *restrict y, i64 n, u32 rows, u32 columns, u32 inner, int adds) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            i64 run = quotient_of(i, inner), above = quotient_of(run, rows), outer = quotient_of(above, columns);
            u32 within = (u32)(i - run * inner), row = (u32)(run - above * rows);
            u32 column = (u32)(above - outer * columns);
            i64 from = ((outer * rows + row) * columns + column) * inner + within;
            values[j] = i < n ? x[from] : 0.0f;
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) y[i] = adds ? y[i] + values[j] : values[j];
        }
    }
}
