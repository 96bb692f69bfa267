// Dropout with the mask of `philox.rs`: a thread computes the four random words of one counter, for four values 16
// apart.

// The four random words of Philox 4x32-10 for a key and a counter: Salmon et al. 2011.
DEVICE void dropout_words(u64 key, u64 counter, u32 *restrict words) {
    u32 x0 = (u32)counter, x1 = (u32)(counter >> 32), x2 = 0, x3 = 0;
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int round = 0; round < 10; round++) {
        u64 a = (u64)0xD2511F53u * x0, b = (u64)0xCD9E8D57u * x2;
        x0 = (u32)(b >> 32) ^ x1 ^ k0;
        x1 = (u32)b;
        x2 = (u32)(a >> 32) ^ x3 ^ k1;
        x3 = (u32)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = x0, words[1] = x1, words[2] = x2, words[3] = x3;
}

// Computes the random words of `counter` for the mask, or zeros for a threshold of 0, which keeps all values. Returns
// the index of the first of the counter's four values.
DEVICE i64 dropout_mask(u64 key, u32 threshold, i64 counter, u32 *restrict words) {
    words[0] = words[1] = words[2] = words[3] = 0;
    if (threshold) dropout_words(key, (u64)counter, words);
    return counter / 16 * 64 + counter % 16;
}

// Adds kept values times `scale` to `sums`; `counters` is the number of counters for n values (16 per block of 64
// values).
KERNEL dropout_add(const float *restrict values, float *restrict sums, u64 key, u32 threshold, float scale,
                   i64 counters, i64 n) {
    FOR_EACH(counter, counters) {
        u32 words[4];
        i64 first = dropout_mask(key, threshold, counter, words);
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            if (i < n) sums[i] += words[word] >= threshold ? values[i] * scale : 0.0f;
        }
    }
}

// Writes kept values times `scale` and zeros elsewhere to `dropped`. The input is `values` in f32 or `half` in 16 bits
// or, if both are null, `dropped` itself.
KERNEL dropout_replace(const float *values, const half_t *half, float *dropped, u64 key, u32 threshold, float scale,
                       i64 counters, i64 n, int is_bf16) {
    const float *from = values ? values : dropped;
    FOR_EACH(counter, counters) {
        u32 words[4];
        i64 first = dropout_mask(key, threshold, counter, words);
        for (int word = 0; word < 4; word++) {
            i64 i = first + 16 * word;
            if (i < n) dropped[i] = words[word] >= threshold ? value_at(from, half, i, is_bf16) * scale : 0.0f;
        }
    }
}
