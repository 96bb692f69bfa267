// Losses on signatures of depth 4 over two channels, in double precision.
//
// A word over two letters (the channels) identifies an entry and is written as a number: a one, followed by the letters
// as bits. So word `h` has the prefix `h / 2` and, one letter longer, the words `2 h` and `2 h + 1`; 1 is the empty
// word, 2 to 31 are the entries of a signature. Arrays of signatures have a row per word, `(32, count)`; rows 0 and 1
// are not used.

#ifdef __CUDACC__
#define SIGNATURE_LOSS_UNROLL _Pragma("unroll")
#else
#define SIGNATURE_LOSS_UNROLL
#endif

enum { SIGNATURE_LOSS_WORDS = 32, SIGNATURE_LOSS_SHORT = 16 };
// The numbers of `RbfStatistic`'s variants.
enum { SIGNATURE_LOSS_SCORING = 0, SIGNATURE_LOSS_MMD = 1, SIGNATURE_LOSS_SIMPLIFIED = 2 };

// Signatures of whole paths `(count, points, 2)`: 16 threads per path, each with a word of four letters and all of its
// prefixes, so that no thread needs the result of another.
KERNEL signature_loss_signatures(const double *restrict paths, double *restrict columns, int count, int points) {
    i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 16;
    int word = (int)threadIdx.x % 16;
    if (own >= count) return;
    const double *path = paths + own * 2 * points;
    double t = path[0], v = path[1], s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0;
    for (int i = 1; i < points; i++) {
        double dt = path[2 * i] - t, dv = path[2 * i + 1] - v;
        t = path[2 * i];
        v = path[2 * i + 1];
        double a = word & 8 ? dv : dt, b = word & 4 ? dv : dt, c = word & 2 ? dv : dt, d = word & 1 ? dv : dt;
        s4 += (((s1 + a * 0.25) * (b * (1.0 / 3.0)) + s2) * (c * 0.5) + s3) * d;
        s3 += ((s1 + a * (1.0 / 3.0)) * (b * 0.5) + s2) * c;
        s2 += (s1 + a * 0.5) * b;
        s1 += a;
    }
    columns[(i64)(16 + word) * count + own] = s4;
    if (word % 2 == 0) columns[(i64)(8 + word / 2) * count + own] = s3;
    if (word % 4 == 0) columns[(i64)(4 + word / 4) * count + own] = s2;
    if (word % 8 == 0) columns[(i64)(2 + word / 8) * count + own] = s1;
}

// Kernels `exp(scale |u - w|^2)` of all pairs, and a sum for each block in `parts`. The first `own_blocks` blocks have
// the pairs of generated paths, then `cross_blocks` those of generated and real paths, the rest those of real paths,
// whose kernels are only summed, not stored.
KERNEL signature_loss_kernels(const double *restrict generated, const double *restrict real, double *restrict own,
                              double *restrict cross, double *restrict parts, int b, int r, int real_count,
                              int own_blocks, int cross_blocks, int off_diagonal, double scale) {
    SHARED(double, scratch, [32]);
    int block = (int)blockIdx.x, columns = r, row_count = b, column_count = real_count;
    i64 rows = b;
    const double *u = generated, *w = real;
    double *kernels = cross;
    if (block < own_blocks) {
        columns = b, column_count = b, w = generated, kernels = own;
    } else {
        block -= own_blocks;
        off_diagonal = 0;
        if (block >= cross_blocks) {
            block -= cross_blocks;
            rows = r, row_count = real_count, u = real, kernels = 0;
        }
    }
    i64 at = (i64)block * blockDim.x + threadIdx.x;
    double kernel = 0.0;
    if (at < rows * columns) {
        i64 i = at / columns, j = at % columns;
        double distance = 0.0;
        for (int h = 2; h < SIGNATURE_LOSS_WORDS; h++) {
            double d = u[(i64)h * row_count + i] - w[(i64)h * column_count + j];
            distance += d * d;
        }
        kernel = exp(distance * scale);
        if (kernels) kernels[at] = kernel;
        if (off_diagonal && i == j) kernel = 0.0;
    }
    kernel = block_sum_double(kernel, scratch);
    if (threadIdx.x == 0) parts[blockIdx.x] = kernel;
}

DEVICE double signature_loss_sum(const double *parts, int count, double *scratch) {
    double sum = 0.0;
    FOR_EACH_IN_BLOCK(i, count) sum += parts[i];
    return block_sum_double(sum, scratch);
}

// The loss, and in `slopes` two factors of the gradient of a generated signature: for the sums over pairs of generated
// paths, and over pairs of generated and real paths. Runs in a single block.
KERNEL signature_loss_rbf(const double *restrict parts, float *restrict loss, double *restrict slopes, int b, int r,
                          int own_blocks, int cross_blocks, int real_blocks, int statistic, double scale,
                          double floor_value) {
    SHARED(double, scratch, [32]);
    double own = signature_loss_sum(parts, own_blocks, scratch);
    double cross = signature_loss_sum(parts + own_blocks, cross_blocks, scratch);
    double real = signature_loss_sum(parts + own_blocks + cross_blocks, real_blocks, scratch);
    if (threadIdx.x > 0) return;
    double pairs = (double)b * (double)r, own_pairs = (double)b * (double)(statistic == SIGNATURE_LOSS_MMD ? b : b - 1);
    double value = 0.0, own_slope = 0.0, cross_slope = 0.0;
    cross /= pairs;
    own = own_pairs > 0.0 ? own / own_pairs : 0.0;
    if (statistic == SIGNATURE_LOSS_SCORING) {
        value = own - 2.0 * cross;
        own_slope = own_pairs > 0.0 ? 1.0 / own_pairs : 0.0;
        cross_slope = -2.0 / pairs;
    } else if (statistic == SIGNATURE_LOSS_MMD) {
        double square = own + real / ((double)r * (double)r) - 2.0 * cross;
        double slope = square < floor_value ? 0.0 : 0.5 / sqrt(square);
        // Not `fmax`, which would turn NaN into `floor_value`.
        value = sqrt(square < floor_value ? floor_value : square);
        own_slope = slope / own_pairs;
        cross_slope = -2.0 * slope / pairs;
    } else {
        value = -log(cross + floor_value);
        cross_slope = -1.0 / ((cross + floor_value) * pairs);
    }
    loss[0] = (float)value;
    // A generated path is the first of some of its pairs with generated paths and the second of others, so it counts
    // twice.
    slopes[0] = 2.0 * own_slope * scale;
    slopes[1] = cross_slope * scale;
}

// `dilation^level`, where the level is the number of letters of the word `h`.
DEVICE double signature_loss_power(double dilation, int h) {
    double square = dilation * dilation;
    if (h < 2) return 1.0;
    if (h < 4) return dilation;
    if (h < 8) return square;
    return h < 16 ? square * dilation : square * square;
}

// The T-statistic, each path's dilation, and in `slopes` the gradient of the loss by entries, still without the
// dilation. Runs in a single block: each lane of a warp has a word, and the warps share the paths.
KERNEL BLOCK_OF(1024)
signature_loss_t_statistic(const double *restrict columns, const double *restrict real, float *restrict loss,
                           double *restrict slopes, double *restrict dilations, int count) {
    SHARED(double, scratch, [32 * 32]);
    int h = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    double mean = 0.0;
    for (int i = warp; i < count; i += warps) {
        double s = h < 2 ? (double)h : columns[(i64)h * count + i];
        double square = h < 2 ? 0.0 : s * s, sum = warp_sum_double(square);
        double norm = sqrt(1.0 + sum), psi = norm <= 4.0 ? norm : 8.0 - 16.0 / norm;
        double slope = warp_sum_double(2.0 * (double)(h - 1) * square);
        double dilation = 1.0 - (1.0 - psi + sum) / slope;
        if (dilation < 0.2) dilation = 1.0;
        mean += signature_loss_power(dilation, h) * s / (double)count;
        if (h == 0) dilations[i] = dilation;
    }
    scratch[threadIdx.x] = mean;
    block_wait();
    if (warp > 0) return;
    for (int other = 1; other < warps; other++) mean += scratch[32 * other + h];
    double difference = h < 1 ? 0.0 : mean - real[h];
    double distance = warp_sum_double(difference * difference);
    slopes[h] = 2.0 / (distance * (double)count) * difference;
    if (h == 0) loss[0] = (float)log(distance);
}

// `sum_j kernels[j] (u - w[j])`, summed by the threads of a warp.
DEVICE double signature_loss_pull(const double *kernels, const double *w, double u, int count) {
    double sum = 0.0;
    for (int j = (int)threadIdx.x % 32; j < count; j += 32) sum += kernels[j] * (u - w[j]);
    return warp_sum_double(sum);
}

// The gradient of the loss with respect to the signature of path `i`, written to `a`.
DEVICE void signature_loss_slopes(const double *columns, const double *real, const double *own, const double *cross,
                                  const double *slopes, const double *dilations, int i, int r, int real_count,
                                  double *a) {
    int count = (int)gridDim.x;
    if (dilations) {
        if (threadIdx.x < 32) a[threadIdx.x] = slopes[threadIdx.x] * signature_loss_power(dilations[i], (int)threadIdx.x);
        return;
    }
    for (int h = 2 + (int)threadIdx.x / 32; h < SIGNATURE_LOSS_WORDS; h += (int)blockDim.x / 32) {
        const double *row = columns + (i64)h * count;
        double sum = own ? slopes[0] * signature_loss_pull(own + (i64)i * count, row, row[i], count) : 0.0;
        sum += slopes[1] * signature_loss_pull(cross + (i64)i * r, real + (i64)h * real_count, row[i], r);
        if (threadIdx.x % 32 == 0) a[h] = sum;
    }
}

// For every piece the signature of the path before it (`side` 0) or after it (1), up to words of three letters,
// `(16, steps)`. Eight threads go along the path, from the start or from the end; each has a word of three letters and
// its prefixes or, from the end, its suffixes.
DEVICE void signature_loss_sweep(const double *path, int steps, int side, int word, double *columns) {
    int first = side ? word & 1 : word >> 2, second = word >> 1 & 1, third = side ? word >> 2 : word & 1;
    int pair = side ? 4 + 2 * second + first : 4 + 2 * first + second;
    double s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (int i = 0; i < steps; i++) {
        int step = side ? steps - 1 - i : i;
        columns[(i64)(8 + word) * steps + step] = s3;
        if (!third) columns[(i64)pair * steps + step] = s2;
        if (!third && !second) columns[(i64)(2 + first) * steps + step] = s1;
        double dt = path[2 * step + 2] - path[2 * step], dv = path[2 * step + 3] - path[2 * step + 1];
        double a = first ? dv : dt, b = second ? dv : dt, c = third ? dv : dt;
        s3 += ((s1 + a * (1.0 / 3.0)) * (b * 0.5) + s2) * c;
        s2 += (s1 + a * 0.5) * b;
        s1 += a;
    }
}

// The gradient of `<a, before x exp(d) x behind>` (x is the tensor product) with respect to `dv`, the increment of the
// value.
DEVICE double signature_loss_piece(const double *a, const double *before, const double *behind, i64 stride, double dt,
                                   double dv) {
    double p[SIGNATURE_LOSS_SHORT], q[SIGNATURE_LOSS_SHORT];
    p[1] = 1.0;
    SIGNATURE_LOSS_UNROLL
    for (int h = 2; h < SIGNATURE_LOSS_SHORT; h++) p[h] = before[h * stride], q[h] = behind[h * stride];
    // The derivative of exp(d) by dv, for words of `k` letters of which `ones` are ones: ones dt^(k - ones) dv^(ones -
    // 1) / k!.
    double t2 = dt * dt, v2 = dv * dv;
    double x[5][5] = {{0.0, 0.0, 0.0, 0.0, 0.0},
                      {0.0, 1.0, 0.0, 0.0, 0.0},
                      {0.0, 0.5 * dt, dv, 0.0, 0.0},
                      {0.0, t2 * (1.0 / 6.0), dt * dv * (1.0 / 3.0), 0.5 * v2, 0.0},
                      {0.0, t2 * dt * (1.0 / 24.0), t2 * dv * (1.0 / 12.0), dt * v2 * 0.125, v2 * dv * (1.0 / 6.0)}};
    double sum = 0.0;
    SIGNATURE_LOSS_UNROLL
    for (int h = 2; h < SIGNATURE_LOSS_WORDS; h++) {
        // The gradient of entry `h` of the signature up to and including the piece.
        double slope = a[h], value = 0.0;
        SIGNATURE_LOSS_UNROLL
        for (int z = 2; z < SIGNATURE_LOSS_SHORT; z++) {
            int letters = z < 4 ? 1 : z < 8 ? 2 : 3;
            if ((h << letters) < SIGNATURE_LOSS_WORDS) slope += a[(h << letters) + z - (1 << letters)] * q[z];
        }
        int ones = 0;
        SIGNATURE_LOSS_UNROLL
        for (int k = 1; k < 5; k++) {
            ones += h >> (k - 1) & 1;
            if (h >> k > 0) value += p[h >> k] * x[k][ones];
        }
        sum += slope * value;
    }
    return sum;
}

// Adds the gradient of the loss to `doutput`; a block computes a path. `own` and `cross` are null for the T-statistic,
// `dilations` is null for the other losses. `sweeps` has room for 33 numbers per piece.
KERNEL signature_loss_backward(const double *restrict paths, const double *restrict columns,
                               const double *restrict real, const double *restrict own, const double *restrict cross,
                               const double *restrict slopes, const double *restrict dilations,
                               const float *restrict dy, double *sweeps, float *restrict doutput, int r,
                               int real_count, int steps) {
    SHARED(double, a, [SIGNATURE_LOSS_WORDS]);
    int i = (int)blockIdx.x, thread = (int)threadIdx.x;
    const double *path = paths + (i64)i * 2 * (steps + 1);
    double *before = sweeps + (i64)i * 33 * steps, *behind = before + 16 * (i64)steps, *pieces = behind + 16 * (i64)steps;
    if (thread < 16) signature_loss_sweep(path, steps, thread / 8, thread % 8, thread < 8 ? before : behind);
    signature_loss_slopes(columns, real, own, cross, slopes, dilations, i, r, real_count, a);
    block_wait();
    for (int step = thread; step < steps; step += (int)blockDim.x) {
        double dt = path[2 * step + 2] - path[2 * step], dv = path[2 * step + 3] - path[2 * step + 1];
        pieces[step] = signature_loss_piece(a, before + step, behind + step, steps, dt, dv);
    }
    block_wait();
    for (int step = thread; step < steps; step += (int)blockDim.x) {
        double slope = step + 1 < steps ? pieces[step] - pieces[step + 1] : pieces[step];
        doutput[(i64)i * steps + step] += (float)((double)dy[0] * slope);
    }
}
