// cuDNN's convolutions over memory of the host, for tests on machines without a GPU: channels last, `f32`, `f16` or `bf16` values.
//
// Stricter than cuDNN: every descriptor must be of its kind and set, sizes must agree, and channels of 16 bits of a group come by eight.
// Of the algorithms proposed one alone computes; the others are what a caller must pass over. So that refusals and failures
// can be tested, kernels of 7 x 7 have no deterministic algorithm, those of 9 x 9 are refused when they are to be
// computed, those of 11 x 11 fail then, half of the result written, and those of 13 x 13 lack memory.
// Sums are in double precision; `f32` factors are rounded to ten bits of fraction unless the math type forbids it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, BAD_PARAM = 2000, WORKSPACE_TOO_SMALL = 2006, NOT_SUPPORTED = 3000, NO_MEMORY = 4004, FAILED = 5000 };
enum { F32 = 0, F16 = 2, BF16 = 9, CHANNELS_LAST = 1, CROSS_CORRELATION = 1 };
enum { DEFAULT_MATH = 0, CONVERTED_MATH = 2, FMA_MATH = 3 };
enum { IMAGES = 0x1a6e5, FILTER = 0xf117e, MOVES = 0x30e5 };
enum { RIGHT = 1, WORKSPACE = 1000 };
enum { FORWARD, BACKWARD_X, BACKWARD_WEIGHT };

// Images (n, h, w, c) or a filter: `n` outputs of (h, w, c).
typedef struct {
    int kind, is_set, type, n, c, h, w;
} values_of;

typedef struct {
    int kind, is_set, padding_y, padding_x, stride_y, stride_x, dilation_y, dilation_x, math, groups;
} moves_of;

typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} proposal;

size_t cudnnGetVersion(void) { return 91002; }
int cudnnCreate(void **handle) { return *handle = malloc(1), OK; }
int cudnnDestroy(void *handle) { return free(handle), OK; }

static int make(void **descriptor, size_t bytes, int kind) {
    *descriptor = calloc(1, bytes);
    memcpy(*descriptor, &kind, sizeof kind);
    return OK;
}

static int release(void *descriptor, int kind) {
    if (!descriptor || *(int *)descriptor != kind) return BAD_PARAM;
    return free(descriptor), OK;
}

int cudnnCreateTensorDescriptor(void **images) { return make(images, sizeof(values_of), IMAGES); }
int cudnnDestroyTensorDescriptor(void *images) { return release(images, IMAGES); }
int cudnnCreateFilterDescriptor(void **filter) { return make(filter, sizeof(values_of), FILTER); }
int cudnnDestroyFilterDescriptor(void *filter) { return release(filter, FILTER); }
int cudnnCreateConvolutionDescriptor(void **moves) { return make(moves, sizeof(moves_of), MOVES); }
int cudnnDestroyConvolutionDescriptor(void *moves) { return release(moves, MOVES); }

static int set(values_of *values, int kind, int format, int type, int n, int c, int h, int w) {
    if (!values || values->kind != kind || format != CHANNELS_LAST) return BAD_PARAM;
    if ((type != F32 && type != F16 && type != BF16) || n < 1 || c < 1 || h < 1 || w < 1) return BAD_PARAM;
    *values = (values_of){kind, 1, type, n, c, h, w};
    return OK;
}

int cudnnSetTensor4dDescriptor(void *images, int format, int type, int n, int c, int h, int w) {
    return set(images, IMAGES, format, type, n, c, h, w);
}

int cudnnSetFilter4dDescriptor(void *filter, int type, int format, int k, int c, int h, int w) {
    return set(filter, FILTER, format, type, k, c, h, w);
}

int cudnnSetConvolution2dDescriptor(void *moves, int padding_y, int padding_x, int stride_y, int stride_x,
                                    int dilation_y, int dilation_x, int mode, int sums) {
    moves_of *own = moves;
    if (!own || own->kind != MOVES || mode != CROSS_CORRELATION || sums != F32) return BAD_PARAM;
    if (padding_y < 0 || padding_x < 0 || stride_y < 1 || stride_x < 1) return BAD_PARAM;
    if (dilation_y < 1 || dilation_x < 1) return BAD_PARAM;
    *own = (moves_of){MOVES, 1, padding_y, padding_x, stride_y, stride_x, dilation_y, dilation_x, DEFAULT_MATH, 1};
    return OK;
}

int cudnnSetConvolutionGroupCount(void *moves, int groups) {
    moves_of *own = moves;
    if (!own || own->kind != MOVES || !own->is_set || groups < 1) return BAD_PARAM;
    own->groups = groups;
    return OK;
}

int cudnnSetConvolutionMathType(void *moves, int math) {
    moves_of *own = moves;
    if (!own || own->kind != MOVES || !own->is_set || math < DEFAULT_MATH || math > FMA_MATH) return BAD_PARAM;
    own->math = math;
    return OK;
}

static int is(const values_of *values, int kind) { return values && values->kind == kind && values->is_set; }

static int results(int in, int padding, int kernel, int stride, int dilation) {
    return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

static int check(const void *handle, const values_of *x, const values_of *w, const moves_of *moves,
                 const values_of *y) {
    if (!handle || !is(x, IMAGES) || !is(w, FILTER) || !is(y, IMAGES)) return BAD_PARAM;
    if (!moves || moves->kind != MOVES || !moves->is_set) return BAD_PARAM;
    if (x->type != w->type || x->type != y->type || y->c != w->n || x->n != y->n) return BAD_PARAM;
    if (x->c != w->c * moves->groups || y->c % moves->groups) return BAD_PARAM;
    if (y->h != results(x->h, moves->padding_y, w->h, moves->stride_y, moves->dilation_y)) return BAD_PARAM;
    if (y->w != results(x->w, moves->padding_x, w->w, moves->stride_x, moves->dilation_x)) return BAD_PARAM;
    if (x->type != F32 && (w->c % 8 || y->c / moves->groups % 8 || moves->math == FMA_MATH)) return NOT_SUPPORTED;
    return OK;
}

static int propose(int code, const values_of *w, const moves_of *moves, int most, int *count, proposal *found) {
    if (code) return code;
    if (most < 6 || !count || !found) return BAD_PARAM;
    int math = moves->math, is_fixed = w->h != 7;
    proposal all[] = {
        {6, NOT_SUPPORTED, -1.0f, 0, 1, math, {0}},         // not to be had
        {0, OK, -1.0f, 0, 0, math, {0}},                    // not deterministic
        {7, OK, -1.0f, (size_t)1 << 40, 1, math, {0}},      // needs too much memory
        {5, OK, -1.0f, 0, 1, CONVERTED_MATH, {0}},          // rounds `f32` values to `f16`
        {RIGHT, OK, -1.0f, WORKSPACE, is_fixed, math, {0}},
        {4, NOT_SUPPORTED, -1.0f, 0, 1, math, {0}},
    };
    // What rounds is nothing to pass over where values are `f16` already.
    if (w->type != F32) all[3].status = NOT_SUPPORTED;
    memcpy(found, all, sizeof all);
    *count = sizeof all / sizeof *all;
    return OK;
}

static int workspace(int code, int algorithm, size_t *bytes) {
    if (code) return code;
    *bytes = algorithm == 7 ? (size_t)1 << 40 : algorithm == RIGHT ? WORKSPACE : 0;
    return OK;
}

static size_t count_of(const values_of *values) { return (size_t)values->n * values->h * values->w * values->c; }

static float of_bf16(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    return memcpy(&value, &bits, sizeof value), value;
}

// The nearest, of two the even one; nothing here is no number.
static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static double *wide(const values_of *of, const void *values, int math) {
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
        if (math != FMA_MATH) {
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            bits = (bits + 0x1000u) & 0xffffe000u;
            memcpy(&value, &bits, sizeof bits);
        }
        own[i] = value;
    }
    return own;
}

// A factor of nothing reads nothing: what stands there may be no number.
static void store(const values_of *of, void *values, const double *sums, float alpha, float beta) {
    for (size_t i = 0; i < count_of(of); i++) {
        if (of->type == F16) {
            _Float16 *own = values;
            own[i] = (_Float16)(float)(alpha * sums[i] + (beta == 0.0f ? 0.0 : beta * (double)own[i]));
        } else if (of->type == BF16) {
            uint16_t *own = values;
            own[i] = to_bf16((float)(alpha * sums[i] + (beta == 0.0f ? 0.0 : beta * (double)of_bf16(own[i]))));
        } else {
            float *own = values;
            own[i] = (float)(alpha * sums[i] + (beta == 0.0f ? 0.0 : beta * (double)own[i]));
        }
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

// Convolutions of this thread.
static __thread uint64_t done;
int stand_in_convolutions(uint64_t *count) { return *count = done, OK; }

// The sums of one operand from the two others.
static int compute(int direction, int code, const values_of *x, void *xs, const values_of *w, void *ws,
                   const moves_of *moves, const values_of *y, void *ys, int algorithm, void *workspace, size_t bytes,
                   const float *alpha, const float *beta) {
    if (code) return code;
    done++;
    if (!xs || !ws || !ys || !alpha || !beta) return BAD_PARAM;
    if (algorithm != RIGHT) return FAILED;
    if (!workspace || bytes < WORKSPACE) return WORKSPACE_TOO_SMALL;
    if (w->h == 9) return NOT_SUPPORTED;
    if (w->h == 13) return NO_MEMORY;
    memset(workspace, 0xff, WORKSPACE);
    const values_of *of[3] = {x, w, y};
    void *values[3] = {xs, ws, ys};
    int target = direction == FORWARD ? 2 : direction == BACKWARD_X ? 0 : 1;
    if (w->h == 11) return memset(values[target], 0xff, count_of(of[target])), FAILED;
    double *sums[3];
    for (int i = 0; i < 3; i++)
        sums[i] = i == target ? calloc(count_of(of[i]), sizeof(double)) : wide(of[i], values[i], moves->math);
    convolve(direction, x, sums[0], w, sums[1], moves, y, sums[2]);
    store(of[target], values[target], sums[target], *alpha, *beta);
    for (int i = 0; i < 3; i++) free(sums[i]);
    return OK;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *moves, void *y, int most, int *count,
                                           proposal *found) {
    return propose(check(handle, x, w, moves, y), w, moves, most, count, found);
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *w, void *dy, void *moves, void *dx, int most,
                                                int *count, proposal *found) {
    return propose(check(handle, dx, w, moves, dy), w, moves, most, count, found);
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *dy, void *moves, void *dw, int most,
                                                  int *count, proposal *found) {
    return propose(check(handle, x, dw, moves, dy), dw, moves, most, count, found);
}

int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *moves, void *y, int algorithm,
                                            size_t *bytes) {
    return workspace(check(handle, x, w, moves, y), algorithm, bytes);
}

int cudnnGetConvolutionBackwardDataWorkspaceSize(void *handle, void *w, void *dy, void *moves, void *dx, int algorithm,
                                                 size_t *bytes) {
    return workspace(check(handle, dx, w, moves, dy), algorithm, bytes);
}

int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *handle, void *x, void *dy, void *moves, void *dw,
                                                   int algorithm, size_t *bytes) {
    return workspace(check(handle, x, dw, moves, dy), algorithm, bytes);
}

int cudnnConvolutionForward(void *handle, const float *alpha, void *x, void *xs, void *w, void *ws, void *moves,
                            int algorithm, void *workspace, size_t bytes, const float *beta, void *y, void *ys) {
    return compute(FORWARD, check(handle, x, w, moves, y), x, xs, w, ws, moves, y, ys, algorithm, workspace, bytes, alpha,
                   beta);
}

int cudnnConvolutionBackwardData(void *handle, const float *alpha, void *w, void *ws, void *dy, void *dys, void *moves,
                                 int algorithm, void *workspace, size_t bytes, const float *beta, void *dx, void *dxs) {
    return compute(BACKWARD_X, check(handle, dx, w, moves, dy), dx, dxs, w, ws, moves, dy, dys, algorithm, workspace, bytes,
                   alpha, beta);
}

int cudnnConvolutionBackwardFilter(void *handle, const float *alpha, void *x, void *xs, void *dy, void *dys,
                                   void *moves, int algorithm, void *workspace, size_t bytes, const float *beta, void *dw,
                                   void *dws) {
    return compute(BACKWARD_WEIGHT, check(handle, x, dw, moves, dy), x, xs, dw, dws, moves, dy, dys, algorithm, workspace,
                   bytes, alpha, beta);
}
