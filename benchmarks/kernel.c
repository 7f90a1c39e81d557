/* The forward pass in C, as a reference for what a processor can do:

       x(t+1) = (1 - a) x(t) + a tanh(W x(t) + W_in s(t) + b)

   W is neighbour lists (CSR: start, column, weight) with all factors applied, so that a hierarchy is one matrix. LANES sequences
   run together: a state is (n, LANES), lanes contiguous, and a weight is loaded once for all of them; their sums stay in registers.

   Compiled by psmnist.py: -O3 -march=native -ffast-math, LANES and WIDTH (floats of a vector) defined there. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define PARTS (LANES / WIDTH)
#define TILE 16

typedef float vector __attribute__((vector_size(4 * WIDTH)));

static inline vector all(float value) { return value - (vector){0}; }

/* tanh(x) = x P(x^2) / Q(x^2), |x| cut at 7.9, where it is 1 to a few roundings. P and Q are a minimax fit of the relative error,
   5.7e-9 before the coefficients are rounded. With -ffast-math the division is an estimate and one step of Newton. */
static inline vector squashed(vector x) {
    for (int i = 0; i < WIDTH; i++) x[i] = x[i] > 7.9f ? 7.9f : x[i];
    for (int i = 0; i < WIDTH; i++) x[i] = x[i] < -7.9f ? -7.9f : x[i];
    const vector s = x * x;
    vector p = all(1.54281317e-08f), q = all(8.59884494e-07f);
    p = p * s + 2.20233596e-05f;
    q = q * s + 3.42366198e-04f;
    p = p * s + 3.57899908e-03f;
    q = q * s + 2.61922646e-02f;
    p = p * s + 0.13450627f;
    q = q * s + 0.467839539f;
    p = p * s + 1.0f;
    q = q * s + 1.0f;
    return x * p / q;
}

/* tanh of many numbers, to measure its error; count is a multiple of WIDTH. */
void squash(const float *x, long count, float *y) {
    vector part;
    for (long i = 0; i < count; i += WIDTH) {
        memcpy(&part, x + i, sizeof part);
        part = squashed(part);
        memcpy(y + i, &part, sizeof part);
    }
}

/* A snapshot: x (n, LANES) to rows of n, `apart` floats from one lane to the next. */
static void turn(const float *restrict x, long n, long apart, float *restrict rows) {
    for (long begin = 0; begin < n; begin += TILE) {
        const long end = begin + TILE < n ? begin + TILE : n;
        for (long lane = 0; lane < LANES; lane++)
            for (long i = begin; i < end; i++) rows[lane * apart + i] = x[i * LANES + lane];
    }
}

/* The thread flushes the smallest numbers to zero, as XLA's do; returns what it did before, for `restore`. */
static unsigned flush(void) {
#ifdef __SSE__
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#else
    return 0;
#endif
}

static void restore(unsigned before) {
#ifdef __SSE__
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

/* u (count, steps) -> kept (count, steps / every, n), from the zero state; count is a multiple of LANES. 1: no memory. */
int forward(long n, const int32_t *restrict start, const int32_t *restrict column, const float *restrict weight,
            const float *restrict input, const float *restrict bias, const float *restrict leak,
            const float *restrict u, long count, long steps, long every, float *restrict kept) {
    const size_t bytes = (size_t)n * LANES * sizeof(float);
    const long apart = steps / every * n;
    vector *now = aligned_alloc(64, bytes), *next = aligned_alloc(64, bytes);
    if (!now || !next) {
        free(now);
        free(next);
        return 1;
    }
    const unsigned before = flush();
    for (long first = 0; first < count; first += LANES) {
        memset(now, 0, bytes);
        for (long t = 0; t < steps; t++) {
            float s[LANES] __attribute__((aligned(64)));
            for (long lane = 0; lane < LANES; lane++) s[lane] = u[(first + lane) * steps + t];
            for (long i = 0; i < n; i++) {
                vector h[PARTS];
#pragma GCC unroll 32
                for (long p = 0; p < PARTS; p++) h[p] = bias[i] + input[i] * ((const vector *)s)[p];
                for (long k = start[i]; k < start[i + 1]; k++) {
                    const vector *x = now + (long)column[k] * PARTS, w = all(weight[k]);
#pragma GCC unroll 32
                    for (long p = 0; p < PARTS; p++) h[p] += w * x[p];
                }
#pragma GCC unroll 32
                for (long p = 0; p < PARTS; p++)
                    next[i * PARTS + p] = (1 - leak[i]) * now[i * PARTS + p] + leak[i] * squashed(h[p]);
            }
            vector *swap = now;
            now = next;
            next = swap;
            if ((t + 1) % every == 0) turn((const float *)now, n, apart, kept + first * apart + t / every * n);
        }
    }
    restore(before);
    free(now);
    free(next);
    return 0;
}
