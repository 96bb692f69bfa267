// Signature kernels of pairs of paths, in double precision. A block computes a pair and each of its threads a row of
// the refined grid. The block goes through the grid diagonal by diagonal, so that each diagonal needs only one barrier.
// A grid with more rows than a block has threads is computed in bands of rows.
//
// The numbering of pairs: first those of generated paths, `(i, (i + k) mod b)` for k = 1, 2, …, then those of generated
// and real paths.

typedef struct {
    // Number of pieces of a path, which has one more point.
    int pieces;
    int order;
    // Number of rows, and of columns, of the refined grid.
    int cells;
    // Factor of squared distances in the static kernel: -1 / sigma.
    double scale;
} signature_kernel_size;

// One block of cells, over which an increment is divided: its coefficients `g`, `u` and `v`, and the values of the
// static kernel at the column where it ends (backwards: begins), for the upper and the lower point of the row's piece.
typedef struct {
    double g, u, v, upper, lower;
} signature_kernel_block;

DEVICE signature_kernel_size signature_kernel_sizes(int points, int order, double scale) {
    signature_kernel_size size;
    size.pieces = points - 1;
    size.order = order;
    size.cells = (points - 1) << order;
    size.scale = scale;
    return size;
}

// The indices of a pair's paths; returns whether both are generated.
DEVICE int signature_kernel_pair(i64 pair, int b, int r, i64 *first, i64 *second) {
    i64 own = (i64)b * (b - 1) / 2;
    if (pair < own) {
        *first = pair % b;
        *second = (*first + pair / b + 1) % b;
        return 1;
    }
    *first = (pair - own) / r;
    *second = (pair - own) % r;
    return 0;
}

DEVICE double signature_kernel_static(const double *x, const double *y, double scale) {
    double t = x[0] - y[0], v = x[1] - y[1];
    return exp((t * t + v * v) * scale);
}

// The static kernel of all points of two paths, `(points, points)`: computed once, since 2^order rows of the refined
// grid use the same values.
DEVICE void signature_kernel_table(const double *x, const double *y, signature_kernel_size size, double *table) {
    int points = size.pieces + 1;
    FOR_EACH_IN_BLOCK(i, (i64)points * points) {
        table[i] = signature_kernel_static(x + 2 * (i / points), y + 2 * (i % points), size.scale);
    }
    block_wait();
}

// Goes on to the next block of cells, or to the previous one if `step` is -1. `kernels` has the values of the static
// kernel at the column where that block ends in this direction, for the row's piece.
DEVICE void signature_kernel_enter(signature_kernel_block *block, const double *kernels, int step,
                                   signature_kernel_size size) {
    double upper = kernels[0], lower = kernels[size.pieces + 1];
    double increment = (lower - block->lower) + (block->upper - upper);
    double share = 1.0 / (double)(1 << size.order);
    block->g = (step > 0 ? increment : -increment) * (share * share);
    double twelfth = block->g * block->g * (1.0 / 12.0);
    block->u = 1.0 + 0.5 * block->g + twelfth;
    block->v = 1.0 - twelfth;
    block->upper = upper;
    block->lower = lower;
}

// Solves the Goursat problem; returns the last corner in the thread of the last row only. `table` has the static
// kernel. `border` holds a row, used if there is more than one band; `edges` has room for two numbers per thread;
// `grid`, if not null, receives all values, diagonal by diagonal.
DEVICE double signature_kernel_solve(const double *table, signature_kernel_size size, double *border, double *edges,
                                     double *grid) {
    int thread = (int)threadIdx.x, threads = (int)blockDim.x, mask = (1 << size.order) - 1;
    double west = 1.0;
    for (int top = 0; top < size.cells; top += threads) {
        int rows = min(threads, size.cells - top), steps = size.cells + rows - 1;
        const double *kernels = table + (i64)((top + min(thread, rows - 1)) >> size.order) * (size.pieces + 1);
        signature_kernel_block block = {0.0, 1.0, 1.0, 0.0, 0.0};
        block.upper = kernels[0];
        block.lower = kernels[size.pieces + 1];
        double diagonal = 1.0, last = 1.0;
        for (int step = 0; step < steps; step++) {
            int column = step - thread;
            if (thread < rows && column >= 0 && column < size.cells) {
                if ((column & mask) == 0)
                    signature_kernel_enter(&block, kernels + (column >> size.order) + 1, 1, size);
                double north = 1.0;
                if (thread > 0) north = edges[(step + 1) % 2 * threads + thread - 1];
                else if (top > 0) north = border[column];
                double from_above = north * block.u - diagonal * block.v;
                last = last * block.u + from_above;
                diagonal = north;
                edges[step % 2 * threads + thread] = last;
                if (thread == rows - 1 && top + rows < size.cells) border[column] = last;
                if (grid) grid[(i64)step * threads + thread] = last;
            }
            block_wait();
        }
        if (top + thread == size.cells - 1) west = last;
        if (grid) grid += (i64)(size.cells + threads - 1) * threads;
    }
    return west;
}

// The value at a thread's row and `column` in the grid that `signature_kernel_solve` wrote; 1 left of the first column.
DEVICE double signature_kernel_at(const double *grid, int thread, int column) {
    return column < 0 ? 1.0 : grid[((i64)column + thread) * blockDim.x + thread];
}

// The value at `column` in the row above a thread's row; for the first row of a band this is the last row of the band
// before.
DEVICE double signature_kernel_above(const double *grid, int top, int cells, int column) {
    int thread = (int)threadIdx.x, threads = (int)blockDim.x;
    if (thread > 0) return signature_kernel_at(grid, thread - 1, column);
    if (top == 0) return 1.0;
    return signature_kernel_at(grid - (i64)(cells + threads - 1) * threads, threads - 1, column);
}

// Gradients of `seed` times the last corner with respect to the increments, summed for every row of cells:
// `(cells, pieces)`. With A the gradient of a cell's value, A[i,j] = e[i,j+1] + e[i+1,j] - c[i+1,j+1], where e = u A
// and c = v A are what a cell passes on. `border` holds two rows, used if there is more than one band; `edges` has room
// for four numbers per thread.
DEVICE void signature_kernel_adjoint(const double *table, signature_kernel_size size, double seed, double *border,
                                     double *edges, const double *grid, double *slopes) {
    int thread = (int)threadIdx.x, threads = (int)blockDim.x, mask = (1 << size.order) - 1;
    double share = 1.0 / (double)(1 << size.order);
    int bands = (size.cells + threads - 1) / threads;
    for (int band = bands - 1; band >= 0; band--) {
        int top = band * threads, rows = min(threads, size.cells - top);
        const double *own = grid + (i64)band * (size.cells + threads - 1) * threads;
        int row = top + min(thread, rows - 1);
        const double *kernels = table + (i64)(row >> size.order) * (size.pieces + 1);
        signature_kernel_block block = {0.0, 1.0, 1.0, 0.0, 0.0};
        block.upper = kernels[size.pieces];
        block.lower = kernels[2 * size.pieces + 1];
        double east = 0.0, corner = 0.0, sides = 0.0, corners = 0.0, north = 1.0, west = 1.0, diagonal = 1.0;
        if (thread < rows) {
            north = signature_kernel_above(own, top, size.cells, size.cells - 1);
            west = signature_kernel_at(own, thread, size.cells - 2);
            diagonal = signature_kernel_above(own, top, size.cells, size.cells - 2);
        }
        for (int step = size.cells + rows - 2; step >= 0; step--) {
            int column = step - thread;
            if (thread < rows && column >= 0 && column < size.cells) {
                // Loads the values of the next column while this column is computed.
                double west_next = signature_kernel_at(own, thread, column - 2);
                double diagonal_next = signature_kernel_above(own, top, size.cells, column - 2);
                if ((column & mask) == mask)
                    signature_kernel_enter(&block, kernels + (column >> size.order), -1, size);
                double south = 0.0, corner_next = 0.0;
                if (thread < rows - 1) {
                    south = edges[(step + 1) % 2 * 2 * threads + thread + 1];
                    corner_next = edges[((step + 1) % 2 * 2 + 1) * threads + thread + 1];
                } else if (band < bands - 1) {
                    south = border[column];
                    corner_next = border[size.cells + column];
                }
                double first = row == size.cells - 1 && column == size.cells - 1 ? seed : 0.0;
                double slope = east + (south - corner + first);
                sides += slope * (west + north);
                corners += slope * diagonal;
                east = block.u * slope;
                double handed = block.v * slope;
                edges[step % 2 * 2 * threads + thread] = east;
                edges[(step % 2 * 2 + 1) * threads + thread] = handed;
                if (thread == 0 && band > 0) {
                    border[column] = east;
                    border[size.cells + column] = handed;
                }
                if ((column & mask) == 0) {
                    double sixth = block.g * (1.0 / 6.0);
                    slopes[(i64)row * size.pieces + (column >> size.order)] =
                        (sides * (0.5 + sixth) + corners * sixth) * (share * share);
                    sides = 0.0;
                    corners = 0.0;
                }
                corner = corner_next;
                north = diagonal;
                west = west_next;
                diagonal = diagonal_next;
            }
            block_wait();
        }
    }
}

// Gradients of the paths' values from those of the increments: each value of the static kernel enters four increments.
// `slopes` has the gradients by rows of cells, `terms` is working memory, `(points, points)`.
DEVICE void signature_kernel_points(const double *x, const double *y, const double *table, signature_kernel_size size,
                                    double *slopes, double *terms, double *dx, double *dy) {
    int n = size.pieces, side = 1 << size.order, points = n + 1, lane = (int)threadIdx.x % 32;
    // Sums the rows of cells of each block into the block's first row.
    FOR_EACH_IN_BLOCK(i, (i64)n * n) {
        double *cell = slopes + (i / n) * side * n + i % n, sum = 0.0;
        for (int row = 0; row < side; row++) sum += cell[(i64)row * n];
        cell[0] = sum;
    }
    block_wait();
    for (int p = (int)threadIdx.x / 32; p < points; p += (int)blockDim.x / 32) {
        const double *below = slopes + (i64)p * side * n, *above = below - (i64)side * n;
        double sum = 0.0;
        for (int q = lane; q < points; q += 32) {
            double slope = 0.0;
            if (p < n && q < n) slope += below[q];
            if (p < n && q > 0) slope -= below[q - 1];
            if (p > 0 && q < n) slope -= above[q];
            if (p > 0 && q > 0) slope += above[q - 1];
            double kernel = table[(i64)p * points + q];
            double term = 2.0 * size.scale * kernel * slope * (x[2 * p + 1] - y[2 * q + 1]);
            terms[(i64)p * points + q] = term;
            sum += term;
        }
        sum = warp_sum_double(sum);
        if (lane == 0) dx[p] = sum;
    }
    block_wait();
    if (!dy) return;
    for (int q = (int)threadIdx.x; q < points; q += (int)blockDim.x) {
        double sum = 0.0;
        for (int p = 0; p < points; p++) sum -= terms[(i64)p * points + q];
        dy[q] = sum;
    }
}

// The signature kernel of every pair. `work` has `area` numbers for each CUDA block: a border and the static kernel.
KERNEL BLOCK_OF(800)
signature_kernel_values(const double *restrict generated, const double *restrict real, double *work,
                        double *restrict values, int b, int r, int points, int order, double scale, i64 area) {
    SHARED_DYNAMIC(double, edges);
    signature_kernel_size size = signature_kernel_sizes(points, order, scale);
    i64 pairs = (i64)b * (b - 1) / 2 + (i64)b * r, first, second;
    for (i64 pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        const double *others = signature_kernel_pair(pair, b, r, &first, &second) ? generated : real;
        const double *x = generated + first * 2 * points, *y = others + second * 2 * points;
        double *border = work + blockIdx.x * area, *table = border + size.cells;
        signature_kernel_table(x, y, size, table);
        double value = signature_kernel_solve(table, size, border, edges, 0);
        if ((int)threadIdx.x == (size.cells - 1) % (int)blockDim.x) values[pair] = value;
        block_wait();
    }
}

// The loss: the sum of weighted kernels, plus the mean kernel of pairs of real paths. Runs in a single block.
KERNEL signature_kernel_loss(const double *restrict values, float *restrict loss, int b, int r, double own_weight,
                             double cross_weight, double real_mean) {
    SHARED(double, scratch, [32]);
    i64 own = (i64)b * (b - 1) / 2, pairs = own + (i64)b * r;
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, pairs) sum += values[i] * (i < own ? own_weight : cross_weight);
    sum = block_sum_double(sum, scratch);
    if (threadIdx.x == 0) loss[0] = (float)(real_mean + sum);
}

// For every pair, `(pairs, 2, points)`: the gradients of the loss with respect to the values of the first path's
// points, and of the second's if it is generated too. `work` has `area` numbers for each CUDA block: two borders, the
// grid, the gradients by rows of cells, the terms of points, and the static kernel.
KERNEL BLOCK_OF(800)
signature_kernel_slopes(const double *restrict generated, const double *restrict real, double *work,
                        double *restrict slopes, int b, int r, int points, int order, double scale, double own_weight,
                        double cross_weight, i64 area) {
    SHARED_DYNAMIC(double, edges);
    signature_kernel_size size = signature_kernel_sizes(points, order, scale);
    i64 pairs = (i64)b * (b - 1) / 2 + (i64)b * r, first, second;
    int bands = (size.cells + (int)blockDim.x - 1) / (int)blockDim.x;
    double *border = work + blockIdx.x * area, *grid = border + 2 * (i64)size.cells;
    double *rows = grid + (i64)bands * (size.cells + (int)blockDim.x - 1) * blockDim.x;
    double *terms = rows + (i64)size.cells * size.pieces, *table = terms + (i64)points * points;
    for (i64 pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        int own = signature_kernel_pair(pair, b, r, &first, &second);
        const double *x = generated + first * 2 * points, *y = (own ? generated : real) + second * 2 * points;
        signature_kernel_table(x, y, size, table);
        signature_kernel_solve(table, size, border, edges, grid);
        block_wait();
        signature_kernel_adjoint(table, size, own ? own_weight : cross_weight, border, edges, grid, rows);
        block_wait();
        double *dx = slopes + pair * 2 * points;
        signature_kernel_points(x, y, table, size, rows, terms, dx, own ? dx + points : 0);
        block_wait();
    }
}

// For each generated path, adds the gradients from all pairs that contain it to the gradient of the output,
// `(B, steps)`.
KERNEL signature_kernel_gather(const double *restrict slopes, const float *restrict dy, float *restrict doutput, int b,
                               int r, int points, int steps) {
    i64 own = (i64)b * (b - 1) / 2, row = 2 * (i64)points;
    FOR_EACH(at, (i64)b * (points - 1)) {
        i64 path = at / (points - 1), point = at % (points - 1) + 1;
        double sum = 0.0;
        for (i64 k = 1; k <= b / 2; k++) {
            i64 pair = (k - 1) * b + path, other = (k - 1) * b + (path + b - k) % b;
            if (pair < own) sum += slopes[pair * row + point];
            if (other < own) sum += slopes[other * row + points + point];
        }
        for (i64 j = 0; j < r; j++) sum += slopes[(own + path * r + j) * row + point];
        doutput[path * steps + point - 1] += (float)((double)dy[0] * sum);
    }
}
