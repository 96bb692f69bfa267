// Signatures: a block computes one path, a thread one entry. An entry is identified by a word, a sequence of channels
// (letters). With the words of all levels numbered one after another, word `e` has the prefix `e / C - 1` (none if that
// is -1), the last letter `e % C`, and, one letter longer, the words `C (e + 1) + c`.

enum { SIGNATURE_DEPTH = 8 };

// A word read from its end: for each k, the letter that is followed by `k` letters, and the word before that letter.
typedef struct {
    int level;
    int letters[SIGNATURE_DEPTH];
    int prefixes[SIGNATURE_DEPTH];
} signature_word;

DEVICE signature_word signature_read(int entry, int channels) {
    signature_word word;
    word.level = 0;
    for (int k = 0; k < SIGNATURE_DEPTH; k++) {
        int prefix = entry / channels;
        word.letters[k] = entry < 0 ? 0 : entry - prefix * channels;
        word.level += entry >= 0;
        entry = entry < 0 ? -1 : prefix - 1;
        word.prefixes[k] = entry;
    }
    return word;
}

// By how much the entry grows when a straight piece `d` is added: Chen's identity by Horner's scheme over the word's
// prefixes. If `before`, the signature before the piece, is null, the path was a single point, and the result is the
// entry of exp(d).
DEVICE float signature_growth(const signature_word *word, const float *before, const float *d) {
    float value = 0.0f;
    for (int k = SIGNATURE_DEPTH - 1; k >= 0; k--) {
        if (k >= word->level) continue;
        int prefix = word->prefixes[k];
        float first = prefix < 0 ? 1.0f : before ? before[prefix] : 0.0f;
        value = (first + value) * (d[word->letters[k]] * (1.0f / (float)(k + 1)));
    }
    return value;
}

// Increments of `count` pieces of a path, from piece `first` on.
DEVICE void signature_pieces(const float *path, int first, int count, int channels, float *d) {
    FOR_EACH_IN_BLOCK(i, (i64)count * channels) {
        i64 from = (i64)first * channels + i;
        d[i] = path[from + channels] - path[from];
    }
}

// Signatures of all prefixes, and their projections y. Shared memory: increments of `chunk` pieces, two signatures.
KERNEL BLOCK_OF(1024)
signature_forward(const float *restrict path, const float *restrict weight, const float *restrict bias,
                  float *signatures, float *restrict y, int points, int channels, int entries, int chunk) {
    SHARED_DYNAMIC(float, scratch);
    float *d = scratch, *kept = scratch + chunk * channels;
    int steps = points - 1;
    path += (i64)blockIdx.x * points * channels;
    signatures += (i64)blockIdx.x * steps * entries;
    signature_word word = signature_read((int)threadIdx.x, channels);
    for (int step = 0; step < steps; step++) {
        if (step % chunk == 0) {
            block_wait();
            signature_pieces(path, step, min(chunk, steps - step), channels, d);
        }
        block_wait();
        const float *before = step ? kept + (step + 1) % 2 * entries : 0, *piece = d + step % chunk * channels;
        float *after = kept + step % 2 * entries;
        for (int e = (int)threadIdx.x; e < entries; e += (int)blockDim.x) {
            if (e >= (int)blockDim.x) word = signature_read(e, channels);
            float value = (before ? before[e] : 0.0f) + signature_growth(&word, before, piece);
            after[e] = value;
            signatures[(i64)step * entries + e] = value;
        }
        if (entries > (int)blockDim.x) word = signature_read((int)threadIdx.x, channels);
    }
    block_wait();
    for (int step = (int)threadIdx.x / 32; step < steps; step += (int)blockDim.x / 32) {
        const float *row = signatures + (i64)step * entries;
        float sum = 0.0f;
        for (int e = (int)threadIdx.x % 32; e < entries; e += 32) sum += row[e] * weight[e];
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) y[(i64)blockIdx.x * steps + step] = sum + bias[0];
    }
}

// The gradients of the signatures of all prefixes, from the last to the first: each is that of its own projection plus
// what comes back through the next piece. Also each path's share of the gradients of weight and bias, in `parts`.
// Shared memory: increments of `chunk` pieces, two signatures, and exp(d) without its highest level.
KERNEL BLOCK_OF(1024)
signature_adjoint(const float *restrict path, const float *restrict weight, const float *restrict signatures,
                  const float *restrict grad, float *restrict adjoints, float *restrict parts, int points, int channels,
                  int entries, int chunk) {
    SHARED_DYNAMIC(float, scratch);
    float *d = scratch, *kept = scratch + chunk * channels, *powers = kept + 2 * entries;
    int steps = points - 1, lower = entries / channels - 1;
    path += (i64)blockIdx.x * points * channels;
    signatures += (i64)blockIdx.x * steps * entries;
    adjoints += (i64)blockIdx.x * steps * entries;
    grad += (i64)blockIdx.x * steps;
    signature_word word = signature_read((int)threadIdx.x, channels);
    for (int next = steps; next > 0; next--) {
        int step = next - 1;
        if (next < steps) {
            if (next == steps - 1 || (next + 1) % chunk == 0)
                signature_pieces(path, next / chunk * chunk, next % chunk + 1, channels, d);
            block_wait();
            for (int e = (int)threadIdx.x; e < lower; e += (int)blockDim.x) {
                if (lower > (int)blockDim.x) word = signature_read(e, channels);
                powers[e] = signature_growth(&word, 0, d + next % chunk * channels);
            }
            block_wait();
        }
        const float *after = kept + next % 2 * entries;
        float *before = kept + step % 2 * entries, slope = grad[step];
        for (int e = (int)threadIdx.x; e < entries; e += (int)blockDim.x) {
            float sum = slope * weight[e];
            if (next < steps) {
                sum += after[e];
                // All words that begin with this one, grouped by how many letters they have more.
                int from = channels * (e + 1), at = 0;
                for (int count = channels; from < entries; count *= channels) {
                    for (int i = 0; i < count; i++) sum += after[from + i] * powers[at + i];
                    from = channels * (from + 1);
                    at = channels * (at + 1);
                }
            }
            before[e] = sum;
            adjoints[(i64)step * entries + e] = sum;
        }
    }
    parts += (i64)blockIdx.x * (entries + 1);
    for (int e = (int)threadIdx.x; e <= entries; e += (int)blockDim.x) {
        float sum = 0.0f;
        for (int step = 0; step < steps; step++)
            sum += grad[step] * (e < entries ? signatures[(i64)step * entries + e] : 1.0f);
        parts[e] = sum;
    }
}

// The gradients of the pieces' increments. A block computes a piece, a warp a channel c: the warp visits the words `e`
// that end with c and, for each, all words that begin with `e`, whose entries depend on d[c] through this letter.
// Shared memory: the increment, the gradient of the signature after the piece, the signature before it, and exp(d)
// without its highest level.
KERNEL BLOCK_OF(512)
signature_piece_gradients(const float *restrict path, const float *restrict signatures, const float *restrict adjoints,
                          float *restrict gradients, int points, int channels, int entries) {
    SHARED_DYNAMIC(float, scratch);
    float *d = scratch, *adjoint = d + channels, *before = adjoint + entries, *powers = before + entries;
    int steps = points - 1, lower = entries / channels - 1, step = (int)(blockIdx.x % steps);
    path += (i64)(blockIdx.x / steps) * points * channels;
    signature_pieces(path, step, 1, channels, d);
    FOR_EACH_IN_BLOCK(e, entries) {
        adjoint[e] = adjoints[(i64)blockIdx.x * entries + e];
        before[e] = step ? signatures[((i64)blockIdx.x - 1) * entries + e] : 0.0f;
    }
    block_wait();
    for (int e = (int)threadIdx.x; e < lower; e += (int)blockDim.x) {
        signature_word word = signature_read(e, channels);
        powers[e] = signature_growth(&word, 0, d);
    }
    block_wait();
    for (int c = (int)threadIdx.x / 32; c < channels; c += (int)blockDim.x / 32) {
        float sum = 0.0f;
        for (int e = c + channels * ((int)threadIdx.x % 32); e < entries; e += 32 * channels) {
            signature_word word = signature_read(e, channels);
            int from = e, at = -1, count = 1;
            for (int more = 0; from < entries; more++) {
                float slope = 0.0f;
                if (more == 0) slope = adjoint[e];
                else
                    for (int i = 0; i < count; i++) slope += adjoint[from + i] * powers[at + i];
                // Horner's scheme for words that are `more` letters longer, up to the letter before this one.
                float chain = 1.0f;
                for (int k = SIGNATURE_DEPTH - 1; k > 0; k--)
                    if (k < word.level)
                        chain = before[word.prefixes[k - 1]] + chain * d[word.letters[k]] / (float)(more + k + 1);
                sum += slope * chain / (float)(more + 1);
                from = channels * (from + 1);
                at = channels * (at + 1);
                count *= channels;
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) gradients[(i64)blockIdx.x * channels + c] = sum;
    }
}

// Adds the gradients that are not null: those of weight and bias from `parts`, summed over paths, and that of the
// points from the gradients of the pieces.
KERNEL signature_gradients(const float *restrict parts, const float *restrict pieces, float *path, float *weight,
                           float *bias, int batch, int points, int channels, int entries) {
    i64 row = (i64)points * channels, piece_row = row - channels;
    FOR_EACH(i, entries + batch * row) {
        if (i < entries) {
            // The first thread also adds the bias: with one channel and depth 1, weight and bias may be the same array.
            for (i64 e = i; e <= entries; e += i == 0 ? entries : entries + 1) {
                float *target = e < entries ? weight : bias, sum = 0.0f;
                if (!target) continue;
                for (int path_index = 0; path_index < batch; path_index++)
                    sum += parts[path_index * (i64)(entries + 1) + e];
                target[e < entries ? e : 0] += sum;
            }
        } else if (path) {
            i64 at = i - entries, own = at / row, place = at % row;
            const float *gradient = pieces + own * piece_row;
            float value = place >= channels ? gradient[place - channels] : 0.0f;
            if (place < piece_row) value -= gradient[place];
            path[at] += value;
        }
    }
}
