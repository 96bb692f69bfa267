// Makes paths `(count, points, 2)` of times and values from generated values `(B, steps)`: the first `count` paths,
// each cut to its first `points` points. Every path begins at the value 0, which `outputs` does not contain.
KERNEL path_batch_generated(const float *restrict outputs, double *restrict paths, int count, int points, int steps) {
    FOR_EACH(i, (i64)count * points) {
        i64 path = i / points;
        int point = (int)(i % points);
        paths[2 * i] = (double)(float)((double)point / (double)steps);
        paths[2 * i + 1] = point ? (double)outputs[path * steps + point - 1] : 0.0;
    }
}
