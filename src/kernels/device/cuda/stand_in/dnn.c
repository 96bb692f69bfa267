// cuDNN's convolutions by its graph API, computed on the CPU in host memory, for tests on machines without a GPU:
// channels last, values in `f32`, `f16` or `bf16`, sums in double precision.
//
// Stricter than cuDNN: attributes must have their types, fit one another and be set before a descriptor is finalized;
// 16-bit channels of a group must be a multiple of eight. Two of the proposed engines compute, one of them with factors
// rounded to TF32; the others are engines that a caller must reject. The filter size makes engines refuse or fail: with
// 7 x 7 no engine is deterministic; executing 9 x 9 is refused as not supported; 11 x 11 fails with a partly written
// result; 13 x 13 fails for lack of memory.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, BAD_PARAM = 2000, WORKSPACE_TOO_SMALL = 2006, NOT_SUPPORTED = 3000, NO_MEMORY = 4004, FAILED = 5000 };
enum { F32 = 0, F16 = 2, BF16 = 9, CROSS_CORRELATION = 1 };
enum { FORWARD, BACKWARD_X, BACKWARD_WEIGHT };

// Kinds of descriptors, types of attributes, and notes of engines, numbered as in cudnn_graph.h.
enum { MOVES = 1, ENGINE = 2, CONFIGURATION = 3, ESTIMATE = 4, PLAN = 5, GRAPH = 15, PACK = 16, TENSOR = 17 };
enum { HANDLE = 0, DATA_TYPE = 1, INT64 = 3, FLOAT = 4, ADDRESS = 6, MODE = 7, ESTIMATE_MODE = 8, NOTE = 11, DESCRIPTOR = 15,
       BEHAVIOR = 19 };
enum { TENSOR_CORE = 0, ROUNDS_INPUTS = 1, NOT_DETERMINISTIC = 4, COMPILES = 0 };

// An engine: its number, its numerical and behavior note (-1 for none), its workspace in bytes, whether it can be
// planned.
typedef struct {
    int number, note, behavior;
    int64_t workspace;
    int can_be_planned;
} engine_of;

enum { EXACT = 1, ROUNDING = 3, WORKSPACE = 1000 };
static const engine_of ENGINES[] = {
    {6, -1, -1, 0, 0},                       // cannot be planned
    {0, NOT_DETERMINISTIC, -1, 0, 1},
    {7, -1, -1, (int64_t)1 << 40, 1},        // needs too much memory
    {5, ROUNDS_INPUTS, -1, 0, 1},
    {8, -1, COMPILES, 0, 1},
    {ROUNDING, TENSOR_CORE, -1, WORKSPACE, 1},
    {EXACT, -1, -1, WORKSPACE, 1},
};
enum { COUNT = sizeof ENGINES / sizeof *ENGINES, MOST = 8 };

typedef struct {
    int name, type;
    int64_t count;
    uint64_t values[4];
} attribute;

typedef struct descriptor {
    int kind, is_finished, attributes;
    attribute of[MOST];
    const engine_of *engine;         // of configurations and engines
    struct descriptor *operation;    // of estimates, configurations and plans
} descriptor;

size_t cudnnGetVersion(void) { return 91002; }
int cudnnCreate(void **handle) { return *handle = malloc(1), OK; }
int cudnnDestroy(void *handle) { return free(handle), OK; }

int cudnnBackendCreateDescriptor(int kind, void **made) {
    descriptor *own = calloc(1, sizeof *own);
    own->kind = kind;
    return *made = own, OK;
}

int cudnnBackendDestroyDescriptor(void *own) { return own ? (free(own), OK) : BAD_PARAM; }

static size_t size_of(int type) {
    return type == HANDLE || type == INT64 || type == ADDRESS || type == DESCRIPTOR ? 8 : 4;
}

int cudnnBackendSetAttribute(void *to, int name, int type, int64_t count, const void *values) {
    descriptor *own = to;
    if (!own || own->is_finished || own->attributes == MOST || count < 1 || count > 4 || !values) return BAD_PARAM;
    attribute *one = &own->of[own->attributes++];
    one->name = name, one->type = type, one->count = count;
    memcpy(one->values, values, (size_t)count * size_of(type));
    return OK;
}

// The values of an attribute; null if it is missing or has another type or number of values.
static const void *values_at(const descriptor *own, int name, int type, int64_t count) {
    for (int i = 0; own && i < own->attributes; i++)
        if (own->of[i].name == name)
            return own->of[i].type == type && own->of[i].count == count ? own->of[i].values : NULL;
    return NULL;
}

// The descriptor in an attribute; null if there is none, or it is of another kind or not finalized.
static descriptor *descriptor_at(const descriptor *own, int name, int kind) {
    descriptor *const *found = values_at(own, name, DESCRIPTOR, 1);
    return found && *found && (*found)->kind == kind && (*found)->is_finished ? *found : NULL;
}

// Sizes of images (n, h, w, c), or of a filter with `n` output channels of (h, w, c).
typedef struct {
    int type, n, c, h, w;
    int64_t id;
} values_of;

typedef struct {
    int padding_y, padding_x, stride_y, stride_x, dilation_y, dilation_x, groups;
} moves_of;

typedef struct {
    int direction;
    values_of x, w, y;
    moves_of moves;
} convolution;

static int read_tensor(const descriptor *own, values_of *values) {
    const int *type = values_at(own, 901, DATA_TYPE, 1);
    const int64_t *sizes = values_at(own, 902, INT64, 4), *strides = values_at(own, 903, INT64, 4);
    const int64_t *id = values_at(own, 906, INT64, 1), *alignment = values_at(own, 900, INT64, 1);
    if (!type || !sizes || !strides || !id || !alignment || (*type != F32 && *type != F16 && *type != BF16)) return BAD_PARAM;
    for (int i = 0; i < 4; i++)
        if (sizes[i] < 1) return BAD_PARAM;
    int64_t c = sizes[1], row = sizes[3] * c;
    if (strides[0] != sizes[2] * row || strides[1] != 1 || strides[2] != row || strides[3] != c) return BAD_PARAM;
    *values = (values_of){*type, (int)sizes[0], (int)c, (int)sizes[2], (int)sizes[3], *id};
    return OK;
}

static int read_moves(const descriptor *own, moves_of *moves) {
    const int *sums = values_at(own, 100, DATA_TYPE, 1), *mode = values_at(own, 101, MODE, 1);
    const int64_t *axes = values_at(own, 106, INT64, 1), *dilation = values_at(own, 102, INT64, 2);
    const int64_t *stride = values_at(own, 103, INT64, 2), *after = values_at(own, 104, INT64, 2);
    const int64_t *before = values_at(own, 105, INT64, 2);
    if (!sums || *sums != F32 || !mode || *mode != CROSS_CORRELATION || !axes || *axes != 2) return BAD_PARAM;
    if (!dilation || !stride || !before || !after || memcmp(before, after, 16)) return BAD_PARAM;
    if (before[0] < 0 || before[1] < 0 || stride[0] < 1 || stride[1] < 1 || dilation[0] < 1 || dilation[1] < 1) return BAD_PARAM;
    *moves = (moves_of){(int)before[0], (int)before[1], (int)stride[0], (int)stride[1], (int)dilation[0], (int)dilation[1], 1};
    return OK;
}

static int results(int in, int padding, int kernel, int stride, int dilation) {
    return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

static int read_operation(const descriptor *own, convolution *of) {
    // Kinds of the three operations, and their attributes: input, filter, output, convolution, alpha, beta.
    static const int kinds[3] = {10, 12, 11};
    static const int names[3][6] = {{704, 703, 705, 702, 700, 701}, {710, 709, 711, 708, 706, 707}, {716, 715, 717, 714, 712, 713}};
    for (of->direction = 0; of->direction < 3 && own->kind != kinds[of->direction];) of->direction++;
    if (of->direction == 3) return BAD_PARAM;
    const int *name = names[of->direction];
    const float *alpha = values_at(own, name[4], FLOAT, 1), *beta = values_at(own, name[5], FLOAT, 1);
    if (!alpha || *alpha != 1.0f || !beta || *beta != 0.0f) return BAD_PARAM;
    if (read_tensor(descriptor_at(own, name[0], TENSOR), &of->x) || read_tensor(descriptor_at(own, name[1], TENSOR), &of->w) ||
        read_tensor(descriptor_at(own, name[2], TENSOR), &of->y) || read_moves(descriptor_at(own, name[3], MOVES), &of->moves))
        return BAD_PARAM;
    values_of *x = &of->x, *w = &of->w, *y = &of->y;
    moves_of *moves = &of->moves;
    if (x->type != w->type || x->type != y->type || y->c != w->n || x->n != y->n || x->c % w->c) return BAD_PARAM;
    moves->groups = x->c / w->c;
    if (y->c % moves->groups || x->id == w->id || x->id == y->id || w->id == y->id) return BAD_PARAM;
    if (y->h != results(x->h, moves->padding_y, w->h, moves->stride_y, moves->dilation_y)) return BAD_PARAM;
    if (y->w != results(x->w, moves->padding_x, w->w, moves->stride_x, moves->dilation_x)) return BAD_PARAM;
    if (x->type != F32 && (w->c % 8 || y->c / moves->groups % 8)) return NOT_SUPPORTED;
    return OK;
}

int cudnnBackendFinalize(void *to) {
    descriptor *own = to;
    if (!own || own->is_finished) return BAD_PARAM;
    int code = OK;
    values_of values;
    moves_of moves;
    convolution whole;
    descriptor *from;
    const int *mode;
    switch (own->kind) {
    case TENSOR: code = read_tensor(own, &values); break;
    case MOVES: code = read_moves(own, &moves); break;
    case 10: case 11: case 12: code = read_operation(own, &whole); break;
    case GRAPH: {
        descriptor *const *operation = values_at(own, 801, DESCRIPTOR, 1);
        if (!values_at(own, 800, HANDLE, 1) || !operation || !(*operation)->is_finished) return BAD_PARAM;
        own->operation = *operation;
        break;
    }
    case ESTIMATE:
        from = descriptor_at(own, 201, GRAPH), mode = values_at(own, 200, ESTIMATE_MODE, 1);
        if (!from || !mode || (*mode != 2 && *mode != 3)) return BAD_PARAM;
        own->operation = from->operation;
        break;
    case PLAN:
        from = descriptor_at(own, 401, CONFIGURATION);
        if (!from || !values_at(own, 400, HANDLE, 1)) return BAD_PARAM;
        if (!from->engine->can_be_planned) return NOT_SUPPORTED;
        own->engine = from->engine, own->operation = from->operation;
        break;
    case PACK:
        if (!values_at(own, 1000, INT64, 3) || !values_at(own, 1001, ADDRESS, 3) || !values_at(own, 1003, ADDRESS, 1)) return BAD_PARAM;
        break;
    default: return BAD_PARAM;
    }
    own->is_finished = code == OK;
    return code;
}

static int give(int64_t *count, void *values, int64_t most, int64_t have, const void *from, size_t size) {
    *count = have;
    memcpy(values, from, size * (size_t)(have < most ? have : most));
    return OK;
}

int cudnnBackendGetAttribute(const void *from, int name, int type, int64_t most, int64_t *count, void *values) {
    const descriptor *own = from;
    if (!own || !own->is_finished || !count || !values || most < 1) return BAD_PARAM;
    convolution of;
    if (read_operation(own->operation, &of)) return BAD_PARAM;
    if (own->kind == ESTIMATE && name == 202 && type == DESCRIPTOR) {
        for (int i = 0; i < COUNT && i < most; i++) {
            descriptor *into = ((descriptor **)values)[i];
            if (!into || into->kind != CONFIGURATION) return BAD_PARAM;
            into->engine = &ENGINES[i], into->operation = own->operation, into->is_finished = 1;
        }
        return *count = COUNT, OK;
    }
    if (own->kind == CONFIGURATION && name == 300 && type == DESCRIPTOR) {
        descriptor *into = *(descriptor **)values;
        if (!into || into->kind != ENGINE) return BAD_PARAM;
        into->engine = own->engine, into->operation = own->operation, into->is_finished = 1;
        return *count = 1, OK;
    }
    if (own->kind == ENGINE && name == 1301 && type == INT64)
        return give(count, values, most, 1, &(int64_t){own->engine->number}, 8);
    if (own->kind == ENGINE && name == 1303 && type == NOTE) {
        // With filters of 7 x 7 no engine is deterministic.
        int note = of.w.h == 7 ? NOT_DETERMINISTIC : own->engine->note;
        return give(count, values, most, note >= 0, &note, 4);
    }
    if (own->kind == ENGINE && name == 1305 && type == BEHAVIOR)
        return give(count, values, most, own->engine->behavior >= 0, &own->engine->behavior, 4);
    if (own->kind == PLAN && name == 402 && type == INT64) return give(count, values, most, 1, &own->engine->workspace, 8);
    return BAD_PARAM;
}

static size_t count_of(const values_of *values) { return (size_t)values->n * values->h * values->w * values->c; }

static float of_bf16(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    return memcpy(&value, &bits, sizeof value), value;
}

// Rounds to nearest, ties to even; NaN does not occur here.
static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static double *wide(const values_of *of, const void *values, int rounds) {
    size_t count = count_of(of);
    double *own = malloc(count * sizeof *own);
    for (size_t i = 0; i < count; i++) {
        if (of->type == F16) {
            own[i] = (double)((const _Float16 *)values)[i];
            continue;
        }
        if (of->type == BF16) {
            own[i] = of_bf16(((const uint16_t *)values)[i]);
            continue;
        }
        float value = ((const float *)values)[i];
        if (rounds) {
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            bits = (bits + 0x1000u) & 0xffffe000u;
            memcpy(&value, &bits, sizeof bits);
        }
        own[i] = value;
    }
    return own;
}

static void store(const values_of *of, void *values, const double *sums) {
    for (size_t i = 0; i < count_of(of); i++) {
        if (of->type == F16)
            ((_Float16 *)values)[i] = (_Float16)(float)sums[i];
        else if (of->type == BF16)
            ((uint16_t *)values)[i] = to_bf16((float)sums[i]);
        else
            ((float *)values)[i] = (float)sums[i];
    }
}

static void multiply(int direction, long c, double *x, double *w, double *y) {
    if (direction == FORWARD)
        for (long i = 0; i < c; i++) *y += x[i] * w[i];
    else if (direction == BACKWARD_X)
        for (long i = 0; i < c; i++) x[i] += *y * w[i];
    else
        for (long i = 0; i < c; i++) w[i] += *y * x[i];
}

static void convolve(int direction, const values_of *x, double *xs, const values_of *w, double *ws,
                     const moves_of *moves, const values_of *y, double *ys) {
    for (long n = 0; n < (long)y->n * y->h * y->w; n++) {
        long image = n / y->w / y->h, i = n / y->w % y->h, j = n % y->w;
        for (long tap = 0; tap < (long)w->h * w->w; tap++) {
            long row = i * moves->stride_y + tap / w->w * moves->dilation_y - moves->padding_y;
            long column = j * moves->stride_x + tap % w->w * moves->dilation_x - moves->padding_x;
            if (row < 0 || row >= x->h || column < 0 || column >= x->w) continue;
            double *pixel = xs + ((image * x->h + row) * x->w + column) * x->c;
            for (long k = 0; k < w->n; k++) {
                double *group = pixel + k / (y->c / moves->groups) * w->c;
                multiply(direction, w->c, group, ws + (k * w->h * w->w + tap) * w->c, ys + n * y->c + k);
            }
        }
    }
}

// Number of convolutions that this host thread has requested.
static __thread uint64_t done;
int stand_in_convolutions(uint64_t *count) { return *count = done, OK; }

// Executes a plan: computes one operand of the convolution from the two others.
int cudnnBackendExecute(void *handle, void *by, void *with) {
    const descriptor *plan = by, *pack = with;
    if (!handle || !plan || plan->kind != PLAN || !plan->is_finished) return BAD_PARAM;
    if (!pack || pack->kind != PACK || !pack->is_finished) return BAD_PARAM;
    convolution of;
    int code = read_operation(plan->operation, &of);
    if (code) return code;
    done++;
    if (plan->engine->number != EXACT && plan->engine->number != ROUNDING) return FAILED;
    void *const *workspace = values_at(pack, 1003, ADDRESS, 1), *const *addresses = values_at(pack, 1001, ADDRESS, 3);
    const int64_t *ids = values_at(pack, 1000, INT64, 3);
    if (!*workspace) return WORKSPACE_TOO_SMALL;
    if (of.w.h == 9) return NOT_SUPPORTED;
    if (of.w.h == 13) return NO_MEMORY;
    memset(*workspace, 0xff, WORKSPACE);
    const values_of *operands[3] = {&of.x, &of.w, &of.y};
    int target = of.direction == FORWARD ? 2 : of.direction == BACKWARD_X ? 0 : 1;
    void *values[3];
    double *sums[3];
    for (int i = 0; i < 3; i++) {
        int at = 0;
        while (at < 3 && ids[at] != operands[i]->id) at++;
        if (at == 3 || !addresses[at] || (uintptr_t)addresses[at] % 16) return BAD_PARAM;
        values[i] = addresses[at];
    }
    if (of.w.h == 11) return memset(values[target], 0xff, count_of(operands[target])), FAILED;
    for (int i = 0; i < 3; i++)
        sums[i] = i == target ? calloc(count_of(operands[i]), sizeof(double))
                              : wide(operands[i], values[i], plan->engine->number == ROUNDING);
    convolve(of.direction, &of.x, sums[0], &of.w, sums[1], &of.moves, &of.y, sums[2]);
    store(operands[target], values[target], sums[target]);
    for (int i = 0; i < 3; i++) free(sums[i]);
    return OK;
}
