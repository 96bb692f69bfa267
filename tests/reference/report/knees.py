"""Sentences of curves over the batch size."""

from check import kind


@kind(r"(.+?): Beyond batch size (\d+) \((.+ samples/s) \((.+)\)\), larger measured sizes bring at most 5 % more \(n = (\d+)\)(?:; (\d+) is not distinguishable from it)?\.$")
def knee(c, precision, size, value, ends, n, also):
    cells = c.sizes_of_batch(precision)
    speed = {size: c.values(key, "samples_per_s") for size, key in cells.items()}
    best = max(speed, key=lambda size: speed[size].median())
    found = min(size for size in speed if speed[size].median() >= 0.95 * speed[best].median())
    c.count("batch size", size, found)
    c.shown(f"{value} ({ends})", cells[found], "samples_per_s")
    near = [size for size in speed if size < found and speed[size].max() >= 0.95 * speed[best].min()]
    c.same("not told from it", also or "", ", ".join(map(str, near)))
    c.count("n", n, min(map(len, speed.values())))


@kind(r"(.+?): Batch size (\d+), the largest measured \((.+ samples/s) \((.+)\)\), is not shown to be faster than (.+) \(n = (\d+)\)\.$")
def unsure_knee(c, line, size, value, ends, also, n):
    cells = c.sizes_of_batch(line)
    speed = {size: c.values(key, "samples_per_s") for size, key in cells.items()}
    ends_of = lambda size: c.interval(cells[size], "samples_per_s")
    best = max(speed, key=lambda size: speed[size].median())
    c.count("largest batch size", size, max(speed))
    c.shown(f"{value} ({ends})", cells[int(size)], "samples_per_s")
    near = [own for own in speed if own < int(size) and ends_of(own)[1] >= 0.95 * ends_of(best)[0]]
    c.same("not told from it", also, ", ".join(map(str, near)))
    c.count("n", n, min(map(len, speed.values())))


@kind(r"(.+?): Throughput still grows at batch size (\d+), the largest measured \((.+ samples/s) \((.+)\), n = (\d+)\)\.$")
def open_knee(c, precision, size, value, ends, n):
    cells = c.sizes_of_batch(precision)
    speed = {size: c.values(key, "samples_per_s") for size, key in cells.items()}
    best = max(own.median() for own in speed.values())
    c.count("batch size of the knee, the largest", size, min(size for size in speed if speed[size].median() >= 0.95 * best))
    c.count("largest batch size", size, max(speed))
    c.shown(f"{value} ({ends})", cells[int(size)], "samples_per_s")
    c.count("n", n, min(map(len, speed.values())))
