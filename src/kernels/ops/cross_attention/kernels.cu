// The feature map of linear attention, elu(x) + 1; without `is_linear`, x itself. Its derivative is min(feature, 1).
DEVICE float cross_attention_feature(int is_linear, float x) {
    if (!is_linear) return x;
    return x > 0.0f ? x + 1.0f : expf(x);
}

// The product of a query's features with a key's; every lane of the warp gets it.
DEVICE float cross_attention_score(const float *restrict q, const float *restrict key, int width, int is_linear) {
    float sum = 0.0f;
    for (int i = threadIdx.x % 32; i < width; i += 32)
        sum += cross_attention_feature(is_linear, q[i]) * cross_attention_feature(is_linear, key[i]);
    return warp_sum(sum);
}

// Writes the attention weights of one query's keys to `weights`, the warp's part of shared memory. Returns the divisor
// of the weights: the sum of the scores plus eps or, for softmax, the sum of exponentials.
DEVICE float cross_attention_weigh(const float *restrict q, const float *restrict k, float *weights, int keys,
                                   i64 features, int width, int is_linear, float eps) {
    int lane = threadIdx.x % 32;
    float highest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < keys; j++) {
        float score = cross_attention_score(q, k + j * features, width, is_linear);
        highest = fmaxf(highest, score);
        sum += score;
        if (lane == 0) weights[j] = score;
    }
    warp_wait();
    if (is_linear) {
        sum += eps;
        for (int j = lane; j < keys; j += 32) weights[j] /= sum;
    } else {
        float scale = 1.0f / sqrtf((float)width);
        sum = 0.0f;
        for (int j = lane; j < keys; j += 32) {
            weights[j] = expf((weights[j] - highest) * scale);
            sum += weights[j];
        }
        sum = warp_sum(sum);
        for (int j = lane; j < keys; j += 32) weights[j] /= sum;
    }
    warp_wait();
    return sum;
}

// Few positions: a warp computes a query in one head, with the weights in shared memory.
KERNEL cross_attention_short(const float *restrict q, const float *restrict k, const float *restrict v,
                             float *restrict y, i64 rows, int queries, int keys, int heads, int width, int is_linear,
                             float eps) {
    SHARED_DYNAMIC(float, scratch);
    float *weights = scratch + threadIdx.x / 32 * keys;
    i64 warps = blockDim.x / 32, features = (i64)heads * width;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        i64 position = row / heads, column = row % heads * width, own = position * features + column;
        i64 other = position / queries * keys * features + column;
        cross_attention_weigh(q + own, k + other, weights, keys, features, width, is_linear, eps);
        for (int i = threadIdx.x % 32; i < width; i += 32) {
            float sum = 0.0f;
            for (int j = 0; j < keys; j++) sum += weights[j] * v[other + j * features + i];
            y[own + i] = sum;
        }
        warp_wait();
    }
}

// With weights p and g = dy . v, writes the gradients of the scores: p (g - sum p g) / sqrt(d) for softmax, (g - sum p
// g) / sum for linear attention. It computes with differences from the first g: with a single key the result is then
// the exact effect of eps on the weight, not the rounding noise of two nearly equal numbers.
DEVICE void cross_attention_slopes(const float *restrict dy, const float *restrict v, const float *weights,
                                   float *slopes, int keys, i64 features, int width, int is_linear, float eps,
                                   float sum) {
    int lane = threadIdx.x % 32;
    float first = 0.0f, mean = 0.0f;
    for (int j = 0; j < keys; j++) {
        float slope = cross_attention_score(dy, v + j * features, width, 0);
        if (j == 0) first = slope;
        mean += weights[j] * (slope - first);
        if (lane == 0) slopes[j] = slope - first;
    }
    if (is_linear) mean -= first * (eps / sum);
    warp_wait();
    float factor = is_linear ? 1.0f / sum : 1.0f / sqrtf((float)width);
    for (int j = lane; j < keys; j += 32) slopes[j] = (slopes[j] - mean) * factor * (is_linear ? 1.0f : weights[j]);
    warp_wait();
}

// A warp computes a whole sequence in one head, so that only one warp writes the gradients of a key or value, and each
// of its lanes the same features. The gradients must be zeros before.
KERNEL cross_attention_short_backward(const float *restrict q, const float *restrict k, const float *restrict v,
                                      const float *restrict dy, float *restrict dq, float *restrict dk,
                                      float *restrict dv, i64 rows, int queries, int keys, int heads, int width,
                                      int is_linear, float eps) {
    SHARED_DYNAMIC(float, scratch);
    float *weights = scratch + threadIdx.x / 32 * 2 * keys, *slopes = weights + keys;
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32, features = (i64)heads * width;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        i64 batch = row / heads, column = row % heads * width, other = batch * keys * features + column;
        for (int query = 0; query < queries; query++) {
            i64 own = (batch * queries + query) * features + column;
            float sum = cross_attention_weigh(q + own, k + other, weights, keys, features, width, is_linear, eps);
            cross_attention_slopes(dy + own, v + other, weights, slopes, keys, features, width, is_linear, eps, sum);
            for (int i = lane; i < width; i += 32) {
                float from = cross_attention_feature(is_linear, q[own + i]), slope = dy[own + i], total = 0.0f;
                for (int j = 0; j < keys; j++) {
                    i64 at = other + j * features + i;
                    dv[at] += weights[j] * slope;
                    dk[at] += slopes[j] * from;
                    total += slopes[j] * cross_attention_feature(is_linear, k[at]);
                }
                dq[own + i] = is_linear ? total * fminf(from, 1.0f) : total;
            }
            warp_wait();
        }
        if (is_linear)
            for (int j = 0; j < keys; j++)
                for (int i = lane; i < width; i += 32) {
                    i64 at = other + j * features + i;
                    dk[at] *= fminf(cross_attention_feature(1, k[at]), 1.0f);
                }
    }
}

// Many positions: softmax of the rows of scores in memory, in place, a warp per row.
KERNEL cross_attention_softmax(float *scores, i64 rows, int keys) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        float *own = scores + row * keys;
        float highest = -INFINITY, sum = 0.0f;
        for (int j = lane; j < keys; j += 32) highest = fmaxf(highest, own[j]);
        highest = warp_max(highest);
        for (int j = lane; j < keys; j += 32) {
            float value = expf(own[j] - highest);
            own[j] = value;
            sum += value;
        }
        sum = warp_sum(sum);
        for (int j = lane; j < keys; j += 32) own[j] /= sum;
    }
}

// Many positions: converts gradients g of the weights p to gradients of the scores, in place: p (g - sum p g).
KERNEL cross_attention_softmax_slopes(const float *restrict weights, float *slopes, i64 rows, int keys) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *p = weights + row * keys;
        float *own = slopes + row * keys, mean = 0.0f;
        for (int j = lane; j < keys; j += 32) mean += p[j] * own[j];
        mean = warp_sum(mean);
        for (int j = lane; j < keys; j += 32) own[j] = p[j] * (own[j] - mean);
    }
}

KERNEL cross_attention_features(const float *restrict x, float *restrict y, i64 n) {
    FOR_EACH(i, n) y[i] = cross_attention_feature(1, x[i]);
}

// Converts gradients of features to gradients of the features' inputs, in place.
KERNEL cross_attention_through_features(float *restrict grad, const float *restrict features, i64 n) {
    FOR_EACH(i, n) grad[i] *= fminf(features[i], 1.0f);
}

// Writes [v, 1]: each row of a head, followed by a one.
KERNEL cross_attention_with_one(const float *restrict v, float *restrict values, i64 n, int width) {
    FOR_EACH(i, n) {
        i64 row = i / (width + 1), column = i - row * (width + 1);
        values[i] = column < width ? v[row * width + column] : 1.0f;
    }
}

// y = a / (w + eps) for rows [a, w] of `quotients`; a warp per row.
KERNEL cross_attention_divide(const float *restrict quotients, float *restrict y, i64 rows, int width, float eps) {
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *own = quotients + row * (width + 1);
        float sum = own[width] + eps;
        for (int i = threadIdx.x % 32; i < width; i += 32) y[row * width + i] = own[i] / sum;
    }
}

// Replaces rows [a, w] by their gradients [da, dw]: da = dy / (w + eps), dw = -(dy . a) / (w + eps)^2.
KERNEL cross_attention_divide_backward(float *quotients, const float *restrict dy, i64 rows, int width, float eps) {
    int lane = threadIdx.x % 32;
    i64 warps = blockDim.x / 32;
    for (i64 row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        float *own = quotients + row * (width + 1);
        const float *slope = dy + row * width;
        float sum = own[width] + eps, product = 0.0f;
        for (int i = lane; i < width; i += 32) product += own[i] * slope[i];
        product = warp_sum(product);
        for (int i = lane; i < width; i += 32) own[i] = slope[i] / sum;
        if (lane == 0) own[width] = -product / (sum * sum);
    }
}
