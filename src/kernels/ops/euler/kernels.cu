// Euler-Maruyama: a block computes one path over all steps, so that a step needs only two barriers of the block.
//
// Up to 64 units (`euler_forward`, `euler_backward`) half of a block computes each field, with two threads per unit: a
// thread keeps half of its unit's square weights (H, H) in registers, and hidden values are exchanged through shared
// memory. For wider fields the kernels `..._wide` read the weights through the caches, and the hidden values from the
// array that is saved for backward.
//
// Layout of `hidden`: first and second layer of the drift, then of the diffusion, each (batch, steps, units).

enum { EULER_UNITS = 64, EULER_QUADS = EULER_UNITS / 8, EULER_WARPS = 8 };

typedef struct __attribute__((aligned(16))) {
    float v[4];
} euler_quad;

// Dot product of 64 terms that two neighbouring threads share: each computes every second group of four terms (`part`),
// and both get the sum.
DEVICE float euler_product(const float *weights, const euler_quad *values, int part) {
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int quad = 0; quad < EULER_QUADS; quad++) {
        euler_quad value = values[2 * quad + part];
        for (int i = 0; i < 4; i++) sums[i] += weights[4 * quad + i] * value.v[i];
    }
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return sum + warp_xor(sum, 1);
}

// The sum over the 16 units of a warp; two neighbouring threads hold each unit.
DEVICE float euler_unit_sum(float value) {
    for (int lane = 16; lane > 1; lane /= 2) value += warp_xor(value, lane);
    return value;
}

// Loads a thread's half (`part`) of the elements `source[from + k * step]` with k < units; 0 beyond, or if `source` is
// null.
DEVICE void euler_weights(const float *source, i64 from, int step, int units, int part, float *weights) {
    for (int quad = 0; quad < EULER_QUADS; quad++)
        for (int i = 0; i < 4; i++) {
            int at = 4 * (2 * quad + part) + i;
            weights[4 * quad + i] = source && at < units ? source[from + (i64)at * step] : 0.0f;
        }
}

KERNEL euler_forward(const float *restrict start, const float *restrict noise, const float *restrict drift_w1,
                     const float *restrict drift_b1, const float *restrict drift_w2, const float *restrict drift_b2,
                     const float *restrict drift_w3, const float *restrict drift_b3, const float *restrict diffusion_w1,
                     const float *restrict diffusion_b1, const float *restrict diffusion_w2,
                     const float *restrict diffusion_b2, const float *restrict diffusion_w3,
                     const float *restrict diffusion_b3, float *restrict path, float *restrict before,
                     float *restrict hidden, int steps, int units) {
    SHARED(euler_quad, first, [2][EULER_UNITS / 4]);
    SHARED(float, scratch, [EULER_WARPS]);
    int field = threadIdx.x / 128, unit = threadIdx.x % 128 / 2, part = threadIdx.x % 2;
    int own = unit < units, writes = own && part == 0;
    const float *w1 = field ? diffusion_w1 : drift_w1, *b1 = field ? diffusion_b1 : drift_b1;
    const float *w2 = field ? diffusion_w2 : drift_w2, *b2 = field ? diffusion_b2 : drift_b2;
    const float *w3 = field ? diffusion_w3 : drift_w3;
    float by_time = own ? w1[unit] : 0.0f, by_x = own ? w1[units + unit] : 0.0f, bias1 = own ? b1[unit] : 0.0f;
    float bias2 = own ? b2[unit] : 0.0f, last = own ? w3[unit] : 0.0f;
    float end0 = drift_b3[0], end1 = diffusion_b3[0];
    float weights[4 * EULER_QUADS];
    euler_weights(own ? w2 : 0, unit, units, units, part, weights);
    i64 row = (i64)blockIdx.x * steps, layer = (i64)gridDim.x * steps * units;
    float *h1 = hidden + 2 * field * layer + row * units + unit, *h2 = h1 + layer;
    float dt = 1.0f / (float)steps, root = sqrtf(dt);
    float x = start[blockIdx.x], e = noise[row];
    for (int step = 0; step < steps; step++) {
        float e_next = step + 1 < steps ? noise[row + step + 1] : 0.0f;
        if (threadIdx.x == 0) before[row + step] = x;
        float value = tanhf(by_time * ((float)step * dt) + by_x * x + bias1);
        if (part == 0) first[field][unit / 4].v[unit % 4] = value;
        if (writes) *h1 = value;
        block_wait();
        value = tanhf(euler_product(weights, first[field], part) + bias2);
        if (writes) *h2 = value;
        float sum = euler_unit_sum(value * last);
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
        block_wait();
        float drift = end0 + ((scratch[0] + scratch[1]) + (scratch[2] + scratch[3]));
        float diffusion = end1 + ((scratch[4] + scratch[5]) + (scratch[6] + scratch[7]));
        x += drift * dt + diffusion * (root * e);
        if (threadIdx.x == 0) path[row + step] = x;
        e = e_next;
        h1 += units;
        h2 += units;
    }
}

// Adds the gradient of the start to `start_grad`, unless that is null. Writes the gradients before the second tanh to
// `slopes`, per field in the layout of a hidden layer, and to `parts`, for each path and field, its share of the
// gradients of w1 (two rows), b1, b2, w3 and b3.
KERNEL euler_backward(const float *restrict noise, const float *restrict drift_w1, const float *restrict drift_w2,
                      const float *restrict drift_w3, const float *restrict diffusion_w1,
                      const float *restrict diffusion_w2, const float *restrict diffusion_w3,
                      const float *restrict before, const float *restrict hidden, const float *restrict grad,
                      float *restrict slopes, float *restrict parts, float *restrict start_grad, int steps,
                      int units) {
    SHARED(euler_quad, second, [2][EULER_UNITS / 4]);
    SHARED(float, scratch, [EULER_WARPS]);
    int field = threadIdx.x / 128, unit = threadIdx.x % 128 / 2, part = threadIdx.x % 2;
    int own = unit < units;
    const float *w1 = field ? diffusion_w1 : drift_w1, *w2 = field ? diffusion_w2 : drift_w2;
    const float *w3 = field ? diffusion_w3 : drift_w3;
    float by_x = own ? w1[units + unit] : 0.0f, last = own ? w3[unit] : 0.0f;
    float weights[4 * EULER_QUADS];
    euler_weights(own ? w2 : 0, (i64)unit * units, 1, units, part, weights);
    i64 row = (i64)blockIdx.x * steps, layer = (i64)gridDim.x * steps * units;
    i64 at = (row + steps - 1) * units + unit;
    const float *h1 = hidden + 2 * field * layer + at, *h2 = h1 + layer;
    slopes += field * layer + at;
    float dt = 1.0f / (float)steps, root = sqrtf(dt), dx = 0.0f;
    float sum_time = 0.0f, sum_x = 0.0f, sum_b1 = 0.0f, sum_b2 = 0.0f, sum_w3 = 0.0f, sum_b3 = 0.0f;
    float a1 = own ? *h1 : 0.0f, a2 = own ? *h2 : 0.0f;
    float x = before[row + steps - 1], e = noise[row + steps - 1], g = grad[row + steps - 1];
    for (int step = steps - 1; step >= 0; step--) {
        dx += g;
        float outer = field ? dx * (root * e) : dx * dt;
        float slope = outer * last * (1.0f - a2 * a2);
        sum_b2 += slope;
        sum_w3 += outer * a2;
        sum_b3 += outer;
        if (part == 0) second[field][unit / 4].v[unit % 4] = slope;
        if (own && part == 0) *slopes = slope;
        // The values of the preceding step are loaded while this step is computed.
        float a1_now = a1, x_now = x;
        if (step > 0) {
            h1 -= units;
            h2 -= units;
            slopes -= units;
            a1 = own ? *h1 : 0.0f;
            a2 = own ? *h2 : 0.0f;
            x = before[row + step - 1];
            e = noise[row + step - 1];
            g = grad[row + step - 1];
        }
        block_wait();
        slope = euler_product(weights, second[field], part) * (1.0f - a1_now * a1_now);
        sum_time += (float)step * dt * slope;
        sum_x += x_now * slope;
        sum_b1 += slope;
        float sum = euler_unit_sum(slope * by_x);
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
        block_wait();
        dx += ((scratch[0] + scratch[1]) + (scratch[2] + scratch[3])) + ((scratch[4] + scratch[5]) + (scratch[6] + scratch[7]));
    }
    parts += (2 * (i64)blockIdx.x + field) * (5 * units + 1);
    if (own && part == 0) {
        parts[unit] = sum_time;
        parts[units + unit] = sum_x;
        parts[2 * units + unit] = sum_b1;
        parts[3 * units + unit] = sum_b2;
        parts[4 * units + unit] = sum_w3;
        if (unit == 0) parts[5 * units] = sum_b3;
    }
    if (start_grad && threadIdx.x == 0) start_grad[blockIdx.x] += dx;
}

KERNEL euler_forward_wide(const float *restrict start, const float *restrict noise, const float *restrict drift_w1,
                          const float *restrict drift_b1, const float *restrict drift_w2,
                          const float *restrict drift_b2, const float *restrict drift_w3,
                          const float *restrict drift_b3, const float *restrict diffusion_w1,
                          const float *restrict diffusion_b1, const float *restrict diffusion_w2,
                          const float *restrict diffusion_b2, const float *restrict diffusion_w3,
                          const float *restrict diffusion_b3, float *restrict path, float *restrict before,
                          float *hidden, int steps, int units) {
    SHARED(float, scratch, [32]);
    i64 row = (i64)blockIdx.x * steps, layer = (i64)gridDim.x * steps * units;
    float dt = 1.0f / (float)steps, root = sqrtf(dt), x = start[blockIdx.x];
    for (int step = 0; step < steps; step++) {
        float *own = hidden + (row + step) * units;
        FOR_EACH_IN_BLOCK(k, 2 * (i64)units) {
            int field = k >= units;
            i64 unit = k - (i64)field * units;
            const float *w1 = field ? diffusion_w1 : drift_w1, *b1 = field ? diffusion_b1 : drift_b1;
            float z = w1[unit] * ((float)step * dt) + w1[units + unit] * x + b1[unit];
            own[2 * field * layer + unit] = tanhf(z);
        }
        block_wait();
        float drift = 0.0f, diffusion = 0.0f;
        FOR_EACH_IN_BLOCK(k, 2 * (i64)units) {
            int field = k >= units;
            i64 unit = k - (i64)field * units;
            const float *w2 = field ? diffusion_w2 : drift_w2, *b2 = field ? diffusion_b2 : drift_b2;
            const float *w3 = field ? diffusion_w3 : drift_w3, *h1 = own + 2 * field * layer;
            float z = 0.0f;
            for (i64 i = 0; i < units; i++) z += h1[i] * w2[i * units + unit];
            float value = tanhf(z + b2[unit]);
            own[(2 * field + 1) * layer + unit] = value;
            if (field) diffusion += value * w3[unit];
            else drift += value * w3[unit];
        }
        drift = drift_b3[0] + block_sum(drift, scratch);
        diffusion = diffusion_b3[0] + block_sum(diffusion, scratch);
        if (threadIdx.x == 0) before[row + step] = x;
        x += drift * dt + diffusion * (root * noise[row + step]);
        if (threadIdx.x == 0) path[row + step] = x;
    }
}

// As `euler_backward`, for wide fields. A warp computes the dot product with one row of the square weights.
KERNEL euler_backward_wide(const float *restrict noise, const float *restrict drift_w1, const float *restrict drift_w2,
                           const float *restrict drift_w3, const float *restrict diffusion_w1,
                           const float *restrict diffusion_w2, const float *restrict diffusion_w3,
                           const float *restrict before, const float *restrict hidden, const float *restrict grad,
                           float *slopes, float *parts, float *restrict start_grad, int steps, int units) {
    SHARED(float, scratch, [32]);
    i64 row = (i64)blockIdx.x * steps, layer = (i64)gridDim.x * steps * units, width = 5 * (i64)units + 1;
    float dt = 1.0f / (float)steps, root = sqrtf(dt), dx = 0.0f;
    parts += 2 * (i64)blockIdx.x * width;
    FOR_EACH_IN_BLOCK(k, 2 * width) parts[k] = 0.0f;
    block_wait();
    for (int step = steps - 1; step >= 0; step--) {
        i64 at = (row + step) * units;
        dx += grad[row + step];
        FOR_EACH_IN_BLOCK(k, 2 * (i64)units) {
            int field = k >= units;
            i64 unit = k - (i64)field * units;
            float outer = field ? dx * (root * noise[row + step]) : dx * dt;
            float value = hidden[(2 * field + 1) * layer + at + unit];
            float slope = outer * (field ? diffusion_w3 : drift_w3)[unit] * (1.0f - value * value);
            slopes[field * layer + at + unit] = slope;
            float *own = parts + field * width;
            own[3 * (i64)units + unit] += slope;
            own[4 * (i64)units + unit] += outer * value;
            if (unit == 0) own[5 * (i64)units] += outer;
        }
        block_wait();
        float sum = 0.0f, x = before[row + step];
        for (i64 k = threadIdx.x / 32; k < 2 * (i64)units; k += blockDim.x / 32) {
            int field = k >= units;
            i64 unit = k - (i64)field * units;
            const float *w2 = (field ? diffusion_w2 : drift_w2) + unit * units, *second = slopes + field * layer + at;
            float slope = 0.0f;
            for (i64 j = threadIdx.x % 32; j < units; j += 32) slope += second[j] * w2[j];
            float value = hidden[2 * field * layer + at + unit];
            slope = warp_sum(slope) * (1.0f - value * value);
            if (threadIdx.x % 32 == 0) {
                float *own = parts + field * width;
                own[unit] += (float)step * dt * slope;
                own[units + unit] += x * slope;
                own[2 * (i64)units + unit] += slope;
                sum += slope * (field ? diffusion_w1 : drift_w1)[units + unit];
            }
        }
        dx += block_sum(sum, scratch);
    }
    if (start_grad && threadIdx.x == 0) start_grad[blockIdx.x] += dx;
}

// Adds the sum of `rows` values at distance `stride` to `target`, unless that is null. A block has 32 units, and eight
// threads per unit that each sum every eighth row.
DEVICE void euler_add(const float *values, i64 stride, int rows, int present, float *target, float *scratch) {
    int lane = threadIdx.x % 32, group = threadIdx.x / 32;
    float sum = 0.0f;
    if (present && target)
        for (int row = group; row < rows; row += EULER_WARPS) sum += values[row * stride];
    scratch[threadIdx.x] = sum;
    block_wait();
    if (group == 0 && present && target) {
        for (int other = 1; other < EULER_WARPS; other++) sum += scratch[32 * other + lane];
        *target += sum;
    }
    block_wait();
}

// Adds the shares of all paths in `parts` to the gradients that are not null. The same threads write all gradients of a
// unit, one after another, so two gradients may be one array.
KERNEL euler_gradients(const float *restrict parts, float *drift_w1, float *drift_b1, float *drift_b2, float *drift_w3,
                       float *drift_b3, float *diffusion_w1, float *diffusion_b1, float *diffusion_b2,
                       float *diffusion_w3, float *diffusion_b3, int batch, int units) {
    SHARED(float, scratch, [32 * EULER_WARPS]);
    int unit = blockIdx.x * 32 + threadIdx.x % 32, present = unit < units;
    i64 width = 5 * (i64)units + 1, stride = 2 * width;
    for (int field = 0; field < 2; field++) {
        const float *own = parts + field * width + unit;
        float *w1 = field ? diffusion_w1 : drift_w1, *b1 = field ? diffusion_b1 : drift_b1;
        float *b2 = field ? diffusion_b2 : drift_b2, *w3 = field ? diffusion_w3 : drift_w3;
        float *b3 = field ? diffusion_b3 : drift_b3;
        euler_add(own, stride, batch, present, w1 ? w1 + unit : 0, scratch);
        euler_add(own + units, stride, batch, present, w1 ? w1 + units + unit : 0, scratch);
        euler_add(own + 2 * (i64)units, stride, batch, present, b1 ? b1 + unit : 0, scratch);
        euler_add(own + 3 * (i64)units, stride, batch, present, b2 ? b2 + unit : 0, scratch);
        euler_add(own + 4 * (i64)units, stride, batch, present, w3 ? w3 + unit : 0, scratch);
        euler_add(own + 5 * (i64)units, stride, batch, unit == 0, b3, scratch);
    }
}
