// cuBLAS's matrix products (column-major), computed on the CPU in host memory, for tests on machines without a GPU.
//
// Sums are in double precision. For `CUBLAS_COMPUTE_32F_FAST_TF32` inputs are rounded to ten bits of fraction.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77 };

// Number of cuBLAS handles that this host thread has opened.
static __thread int opened;

int cublasCreate_v2(void **handle) { return *handle = malloc(1), opened++, 0; }
int stand_in_opened(int *count) { return *count = opened, 0; }

// Number of matrix products that this host thread has requested.
static __thread uint64_t done;
int stand_in_products(uint64_t *count) { return *count = done, 0; }
int cublasDestroy_v2(void *handle) { return free(handle), 0; }
int cublasSetStream_v2(void *handle, void *stream) { return (void)handle, (void)stream, 0; }
int cublasSetMathMode(void *handle, int mode) { return (void)handle, (void)mode, 0; }
int cublasGetVersion_v2(void *handle, int *version) { return (void)handle, *version = 130000, 0; }

static double read_value(const void *values, int type, long long index, int compute) {
    if (type == R_64F) return ((const double *)values)[index];
    if (type == R_16F) return (double)((const _Float16 *)values)[index];
    float value;
    if (type == R_16BF) {
        uint32_t bits = (uint32_t)((const uint16_t *)values)[index] << 16;
        return memcpy(&value, &bits, sizeof bits), value;
    }
    value = ((const float *)values)[index];
    if (compute == COMPUTE_TF32) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits = (bits + 0x1000u) & 0xffffe000u;
        memcpy(&value, &bits, sizeof bits);
    }
    return value;
}

static int is_type(int type) { return type == R_32F || type == R_64F || type == R_16F; }

int cublasGemmStridedBatchedEx(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,
                               int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,
                               long long stride_c, int batches, int compute, int algorithm) {
    (void)handle, (void)algorithm;
    done++;
    if (m < 0 || n < 0 || k < 0 || batches < 0 || type_a != type_b || !(is_type(type_a) || type_a == R_16BF) || !is_type(type_c)) return 7;
    if (lda < (trans_a ? k : m) || ldb < (trans_b ? n : k) || ldc < m) return 7;
    if (compute != COMPUTE_32F && compute != COMPUTE_TF32 && compute != COMPUTE_64F) return 15;
    int is_double = compute == COMPUTE_64F;
    if (is_double != (type_c == R_64F)) return 15;
    double scale = is_double ? *(const double *)alpha : *(const float *)alpha;
    double keep = is_double ? *(const double *)beta : *(const float *)beta;
    for (long long batch = 0; batch < batches; batch++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0.0;
                for (int p = 0; p < k; p++) {
                    long long at_a = trans_a ? p + (long long)i * lda : i + (long long)p * lda;
                    long long at_b = trans_b ? j + (long long)p * ldb : p + (long long)j * ldb;
                    sum += read_value(a, type_a, batch * stride_a + at_a, compute) *
                           read_value(b, type_b, batch * stride_b + at_b, compute);
                }
                long long at = batch * stride_c + i + (long long)j * ldc;
                // With beta = 0, C must not be read: it may contain NaN.
                double before = keep == 0.0 ? 0.0 : keep * read_value(c, type_c, at, COMPUTE_32F);
                double value = scale * sum + before;
                if (type_c == R_64F) ((double *)c)[at] = value;
                else if (type_c == R_16F) ((_Float16 *)c)[at] = (_Float16)value;
                else ((float *)c)[at] = (float)value;
            }
    return 0;
}
