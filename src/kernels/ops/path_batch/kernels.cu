// Paths in time `(count, points, 2)` from the values `(B, steps)` after their first point, which is 0: the first `count`,
// each up to its first `points` points.
KERNEL path_batch_generated(const float *restrict outputs, double *restrict paths, int count, int points, int steps) {
    FOR_EACH(i, (i64)count * points) {
        i64 path = i / points;
        int point = (int)(i % points);
        paths[2 * i] = (double)(float)((double)point / (double)steps);
        paths[2 * i + 1] = point ? (double)outputs[path * steps + point - 1] : 0.0;
    }
}
