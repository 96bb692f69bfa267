// Attention without its products: splitting and merging heads, softmax and its gradient.

// Splits heads: copies `qkv`, (batch, length, 3, heads, width), to `apart`, (3, batch, heads, length, width). If `dy`,
// (batch, length, heads, width), is not null, it becomes a fourth part.
KERNEL attention_split(const float *restrict qkv, const float *restrict dy, float *restrict apart, i64 n, u32 batch,
                       u32 length, u32 heads, u32 width) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            i64 row = quotient_of(i, width), head = quotient_of(row, length), sequence = quotient_of(head, heads);
            i64 feature = i - row * width, position = row - head * length, part = quotient_of(sequence, batch);
            i64 place = (sequence - part * batch) * length + position;
            feature += (head - sequence * heads) * width;
            values[j] = 0.0f;
            const float *from = part < 3 ? qkv + (place * 3 + part) * heads * width : dy + place * heads * width;
            if (i < n) values[j] = from[feature];
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) apart[i] = values[j];
        }
    }
}

// Merges heads: writes `apart`, (parts, batch, heads, length, width), to `joined`, (batch, length, parts, heads, width)
// or, with `adds`, adds it.
KERNEL attention_join(const float *restrict apart, float *restrict joined, i64 n, u32 batch, u32 length, u32 parts,
                      u32 heads, u32 width, int adds) {
    FOR_EACH_TILE(start, n) {
        float values[TILE];
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            i64 head = quotient_of(i, width), part = quotient_of(head, heads), place = quotient_of(part, parts);
            i64 sequence = quotient_of(place, length), position = place - sequence * length;
            i64 feature = i - head * width;
            i64 block = ((part - place * parts) * batch + sequence) * heads + (head - part * heads);
            values[j] = i < n ? apart[(block * length + position) * width + feature] : 0.0f;
            if (adds && i < n) values[j] += joined[i];
        }
        for (int j = 0; j < TILE; j++) {
            i64 i = start + (i64)j * blockDim.x;
            if (i < n) joined[i] = values[j];
        }
    }
}

// Number of values of a row that each thread keeps in registers; further values of a long row are read again from
// memory.
enum { ATTENTION_KEPT = 8 };

// Softmax of a row of scores for each block, in place; also written to `half` in 16 bits unless that is null. If
// causal, the softmax is over the values up to the diagonal, and the rest of the row becomes zeros.
KERNEL attention_softmax(float *restrict scores, half_t *restrict half, int length, int causal, int is_bf16) {
    SHARED(float, scratch, [32]);
    i64 first = (i64)blockIdx.x * length;
    float *row = scores + first;
    int used = causal ? (int)(blockIdx.x % (u32)length) + 1 : length;
    float kept[ATTENTION_KEPT], most = -INFINITY, sum = 0.0f;
    int rest = (int)(threadIdx.x + ATTENTION_KEPT * blockDim.x);
    for (int j = 0; j < ATTENTION_KEPT; j++) {
        int i = (int)(threadIdx.x + j * blockDim.x);
        kept[j] = i < used ? row[i] : -INFINITY;
        most = fmaxf(most, kept[j]);
    }
    for (int i = rest; i < used; i += blockDim.x) most = fmaxf(most, row[i]);
    most = block_max(most, scratch);
    for (int j = 0; j < ATTENTION_KEPT; j++) {
        int i = (int)(threadIdx.x + j * blockDim.x);
        kept[j] = i < used ? expf(kept[j] - most) : 0.0f;
        sum += kept[j];
    }
    for (int i = rest; i < used; i += blockDim.x) {
        row[i] = expf(row[i] - most);
        sum += row[i];
    }
    float inverse = 1.0f / block_sum(sum, scratch);
    for (int j = 0; j < ATTENTION_KEPT; j++) {
        int i = (int)(threadIdx.x + j * blockDim.x);
        if (i >= length) continue;
        float p = i < used ? kept[j] * inverse : 0.0f;
        row[i] = p;
        if (half) half[first + i] = float_to_half(p, is_bf16);
    }
    for (int i = rest; i < length; i += blockDim.x) {
        float p = i < used ? row[i] * inverse : 0.0f;
        row[i] = p;
        if (half) half[first + i] = float_to_half(p, is_bf16);
    }
}

// Converts the gradient g of a row of probabilities p to the gradient of the unscaled scores, in place:
// `p (g - sum of g p) scale`. p is in f32, or in 16 bits if `half` is not null. If causal, the values after the
// diagonal become zeros.
KERNEL attention_softmax_backward(const float *restrict p, const half_t *restrict half, float *restrict grads, int length,
                                  int causal, float scale, int is_bf16) {
    SHARED(float, scratch, [32]);
    i64 first = (i64)blockIdx.x * length;
    float *row = grads + first;
    int used = causal ? (int)(blockIdx.x % (u32)length) + 1 : length;
    float kept[ATTENTION_KEPT], kept_p[ATTENTION_KEPT], sum = 0.0f;
    int rest = (int)(threadIdx.x + ATTENTION_KEPT * blockDim.x);
    for (int j = 0; j < ATTENTION_KEPT; j++) {
        int i = (int)(threadIdx.x + j * blockDim.x);
        kept[j] = i < used ? row[i] : 0.0f;
        kept_p[j] = i < used ? value_at(p, half, first + i, is_bf16) : 0.0f;
    }
    for (int j = 0; j < ATTENTION_KEPT; j++) sum += kept[j] * kept_p[j];
    for (int i = rest; i < used; i += blockDim.x) sum += row[i] * value_at(p, half, first + i, is_bf16);
    sum = block_sum(sum, scratch);
    for (int j = 0; j < ATTENTION_KEPT; j++) {
        int i = (int)(threadIdx.x + j * blockDim.x);
        if (i < length) row[i] = i < used ? kept_p[j] * (kept[j] - sum) * scale : 0.0f;
    }
    for (int i = rest; i < length; i += blockDim.x)
        row[i] = i < used ? value_at(p, half, first + i, is_bf16) * (row[i] - sum) * scale : 0.0f;
}
