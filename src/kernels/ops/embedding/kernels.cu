// `y[i] = table[indices[i]]`, one block per row of y.
KERNEL embedding_forward(const float *restrict table, const u32 *restrict indices, float *restrict y, i64 count,
                         i64 features) {
    for (i64 row = blockIdx.x; row < count; row += gridDim.x) {
        const float *from = table + indices[row] * features;
        FOR_EACH_IN_BLOCK(i, features) y[row * features + i] = from[i];
    }
}

// Adds the gradients of every row of the table that was looked up, one block per row.
// `order[starts[g] .. starts[g + 1]]` are the positions in the batch, ascending, that looked up row `rows[g]`. So every
// row has one writer and a fixed order of additions.
KERNEL embedding_backward(const float *restrict dy, const u32 *restrict rows, const u32 *restrict starts,
                          const u32 *restrict order, float *restrict dtable, i64 groups, i64 features) {
    for (i64 group = blockIdx.x; group < groups; group += gridDim.x) {
        float *row = dtable + rows[group] * features;
        FOR_EACH_IN_BLOCK(i, features) {
            float sum = row[i];
            for (u32 place = starts[group]; place < starts[group + 1]; place++) sum += dy[order[place] * features + i];
            row[i] = sum;
        }
    }
}
