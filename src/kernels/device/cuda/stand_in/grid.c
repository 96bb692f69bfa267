// Emulates CUDA's grid on the CPU. Blocks run one after another; the threads of a block are fibers, each with its own
// stack, that switch to another fiber where they wait. A thread that never waits costs one switch to it and one back.
//
// Blocks, warps and threads run in ascending order or, if a host thread asks for it (`stand_in_set_backwards`), in
// descending order: a kernel with a data race between threads or blocks gives different bits in the two orders. Shared
// memory is filled with NaN before every block. What would be a fault, a hang or arbitrary values on a GPU ends the
// kernel with an error here: threads that wait for each other forever, a shuffle in an incomplete warp, more shared
// memory than the launch may have.
#include <stdio.h>
#include <stdlib.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum { STACK = 64 << 10, MOST = 1024 };
enum { SHARED_UNASKED = 48 << 10, SHARED_MOST = 227 << 10 };
enum { READY, AT_BLOCK, AT_WARP, AT_SHUFFLE, DONE };
enum { NOTHING_WRONG, WAITS_IN_VAIN, SHUFFLES_WITHOUT_ALL, SHARES_TOO_MUCH };

#ifdef __x86_64__

// Switches stacks: pushes the callee-saved registers on the current stack and pops those of the other one.
// `swapcontext` does the same with two system calls, which take longer than most kernels run between two waits.
typedef void *place;
__attribute__((visibility("hidden"))) void stand_in_switch(place *from, place to);
__asm__(".text\n"
        ".globl stand_in_switch\n.hidden stand_in_switch\n"
        "stand_in_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n");

static void switch_places(place *from, place *to) { stand_in_switch(from, *to); }

// Prepares a stack on which the first switch calls `start`: aligned, with a return address that is never used.
static void begin_at(place *self, unsigned char *stack, size_t bytes, void (*start)(void)) {
    uintptr_t top = (uintptr_t)(stack + bytes) / 16 * 16;
    void **slots = (void **)top;
    memset(slots - 8, 0, 8 * sizeof *slots);
    slots[-2] = (void *)start;
    *self = slots - 8;
}

#else

typedef ucontext_t place;

static void switch_places(place *from, place *to) { swapcontext(from, to); }

static void begin_at(place *self, unsigned char *stack, size_t bytes, void (*start)(void)) {
    getcontext(self);
    self->uc_stack.ss_sp = stack;
    self->uc_stack.ss_size = bytes;
    makecontext(self, start, 0);
}

#endif

typedef struct {
    place at;
    unsigned char *stack;
    dim index;
    int state, shuffles;
    // The values that this thread gives to its shuffles, alternating between two slots: a thread that is already at its
    // next shuffle must not overwrite a value that others still read.
    double given[2];
} fiber;

__thread dim threadIdx, blockIdx, blockDim, gridDim;
__thread unsigned char *stand_in_shared;
// Number of the current block, counted from 1 over all blocks that this host thread has run.
__thread u64 stand_in_block;
// Bytes of shared memory of the current block: the dynamic ones and those of the arrays that it has declared so far.
static __thread size_t shared_bytes_declared;
static __thread fiber *fibers;
static __thread place scheduler;
static __thread int running;
// Index at which the search for the warp's next ready thread ends: one past its last thread in the current order.
static __thread int warp_end;
static __thread int backwards;
static __thread void (*entry)(void **);
static __thread void **arguments;

int stand_in_set_backwards(int value) { return backwards = value, 0; }

static int in_order(int index, int count) { return backwards ? count - 1 - index : index; }

// Sets the indices of the threads of the next blocks and, if the kernel waits, allocates their stacks.
static void prepare(int threads, int waits) {
    if (!fibers) fibers = calloc(MOST, sizeof(fiber));
    for (int i = 0; i < threads; i++) {
        fibers[i].index.x = i % blockDim.x;
        fibers[i].index.y = i / blockDim.x % blockDim.y;
        fibers[i].index.z = i / (blockDim.x * blockDim.y);
        if (waits && !fibers[i].stack) fibers[i].stack = malloc(STACK);
    }
}

static void set_thread(int index) {
    running = index;
    threadIdx = fibers[index].index;
}

// The first ready thread of the warp from `index` on, in the current order; `warp_end` if there is none.
static int next_ready(int index) {
    int step = backwards ? -1 : 1;
    while (index != warp_end && fibers[index].state != READY) index += step;
    return index;
}

// Suspends the running thread with the given state; the warp's next ready thread continues, or if none is left the
// scheduler.
static void give_way(int state) {
    int own = running, next = next_ready(backwards ? own - 1 : own + 1);
    fibers[own].state = state;
    place *to = next == warp_end ? &scheduler : &fibers[next].at;
    if (next != warp_end) set_thread(next);
    switch_places(&fibers[own].at, to);
}

static void body(void) {
    entry(arguments);
    give_way(DONE);
}

// Called where a block declares a shared array: counts its bytes and fills it with NaN.
void stand_in_share(void *array, size_t bytes) {
    shared_bytes_declared += bytes;
    memset(array, 0xff, bytes);
}

void stand_in_wait_block(void) { give_way(AT_BLOCK); }
void stand_in_wait_warp(void) { give_way(AT_WARP); }

double stand_in_warp_xor_double(double value, int lane) {
    int turn = fibers[running].shuffles++ % 2;
    fibers[running].given[turn] = value;
    give_way(AT_SHUFFLE);
    return fibers[running ^ lane].given[turn];
}

float stand_in_warp_xor(float value, int lane) { return (float)stand_in_warp_xor_double(value, lane); }

// Whether all threads of `start .. start + count` that are not done are in `state`, and at least one is.
static int all_at(int state, int start, int count) {
    int waiting = 0;
    for (int i = start; i < start + count; i++) {
        if (fibers[i].state == state) waiting++;
        else if (fibers[i].state != DONE) return 0;
    }
    return waiting > 0;
}

static int any_done(int start, int count) {
    for (int i = start; i < start + count; i++)
        if (fibers[i].state == DONE) return 1;
    return 0;
}

static void release(int start, int count) {
    for (int i = start; i < start + count; i++)
        if (fibers[i].state != DONE) fibers[i].state = READY;
}

// Runs the ready threads of a warp until they wait or end; returns whether there were any.
static int run_ready(int start, int count) {
    warp_end = backwards ? start - 1 : start + count;
    int first = next_ready(start + in_order(0, count));
    if (first == warp_end) return 0;
    set_thread(first);
    switch_places(&scheduler, &fibers[first].at);
    return 1;
}

// Runs one block; returns what is wrong with the kernel, or NOTHING_WRONG.
static int run_block(int threads) {
    for (int i = 0; i < threads; i++) {
        begin_at(&fibers[i].at, fibers[i].stack, STACK, body);
        fibers[i].state = READY;
        fibers[i].shuffles = 0;
    }
    for (;;) {
        int moved = 0;
        int warps = (threads + 31) / 32;
        for (int turn = 0; turn < warps; turn++) {
            int warp = 32 * in_order(turn, warps);
            int lanes = threads - warp < 32 ? threads - warp : 32;
            while (run_ready(warp, lanes)) {
                moved = 1;
                int shuffles = all_at(AT_SHUFFLE, warp, lanes);
                if (shuffles && (lanes < 32 || any_done(warp, lanes))) return SHUFFLES_WITHOUT_ALL;
                if (shuffles || all_at(AT_WARP, warp, lanes)) release(warp, lanes);
            }
        }
        if (all_at(AT_BLOCK, 0, threads)) {
            release(0, threads);
            moved = 1;
        }
        if (all_at(DONE, 0, threads)) return NOTHING_WRONG;
        // Some threads wait for the block and others for their warp, forever: on a GPU this kernel would hang.
        if (!moved) return WAITS_IN_VAIN;
    }
}

// Whether a launch may have `dynamic` bytes of dynamic shared memory and `all` bytes in total; more than 48 KiB in
// total are allowed only if the kernel's limit for dynamic memory was raised (`asked`).
static int may_share(u32 dynamic, size_t all, u32 asked) {
    return all <= SHARED_UNASKED || (dynamic <= asked && all <= SHARED_MOST);
}

// Runs a kernel over a grid; returns what is wrong with it, or NOTHING_WRONG. `waits` is 0 for kernels whose threads
// never wait for each other, which run as plain loops. `shared_bytes` is the dynamic shared memory of a block.
static int run_grid(void (*kernel)(void **), int waits, dim grid, dim block, u32 shared_bytes, u32 asked_bytes,
                    void **given) {
    int threads = block.x * block.y * block.z;
    unsigned char *shared = malloc(shared_bytes + 64);
    entry = kernel, arguments = given, gridDim = grid, blockDim = block;
    prepare(threads, waits);
    stand_in_shared = (unsigned char *)(((uintptr_t)shared + 63) / 64 * 64);
    int wrong = NOTHING_WRONG;
    u64 blocks = (u64)grid.x * grid.y * grid.z;
    for (u64 turn = 0; turn < blocks && !wrong; turn++) {
        u64 i = backwards ? blocks - 1 - turn : turn;
        blockIdx.x = i % grid.x, blockIdx.y = i / grid.x % grid.y, blockIdx.z = i / ((u64)grid.x * grid.y);
        stand_in_block++;
        shared_bytes_declared = shared_bytes;
        memset(shared, 0xff, shared_bytes + 64);
        if (waits) {
            wrong = run_block(threads);
        } else {
            for (int thread = 0; thread < threads; thread++) {
                set_thread(in_order(thread, threads));
                kernel(given);
            }
        }
        if (!may_share(shared_bytes, shared_bytes_declared, asked_bytes)) wrong = SHARES_TOO_MUCH;
    }
    free(shared);
    return wrong;
}
