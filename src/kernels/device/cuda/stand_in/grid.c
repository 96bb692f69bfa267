// The grid on the CPU: blocks one after another; the threads of a block as contexts that give way to each other where
// they wait. A thread that never waits costs one switch there and one back.
//
// Blocks, warps and threads go forwards or, for one thread of the host at a time, backwards (`stand_in_set_backwards`):
// a kernel that reads what another thread or block may or may not have written gives other bits in one of the two.
// Shared memory is filled with NaN before every block. What a GPU answers with a fault, a hang or arbitrary values ends the
// kernel here: threads that wait for each other in vain, a shuffle of a warp that is not whole, more shared memory than
// the launch may have.
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

// A switch between stacks: what a function has to keep is pushed on the one and popped from the other. `swapcontext` does
// the same with two calls of the system, which take longer than most kernels run from one wait to the next.
typedef void *place;
void stand_in_switch(place *from, place to);
__asm__(".text\n"
        ".globl stand_in_switch\n"
        "stand_in_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n");

static void switch_places(place *from, place *to) { stand_in_switch(from, *to); }

// A stack as if `start` had just been called on it: aligned, with a return address that nobody uses.
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
    int state;
    double given;
} fiber;

__thread dim threadIdx, blockIdx, blockDim, gridDim;
__thread unsigned char *stand_in_shared;
// The number of the block, of all that this thread of the host has run, from 1.
__thread u64 stand_in_block;
// Bytes of shared arrays that the block has declared.
static __thread size_t shared_bytes_declared;
static __thread fiber *fibers;
static __thread place scheduler;
static __thread int running;
static __thread int backwards;
static __thread void (*entry)(void **);
static __thread void **arguments;

int stand_in_set_backwards(int value) { return backwards = value, 0; }

static int in_order(int index, int count) { return backwards ? count - 1 - index : index; }

static void set_thread(int index) {
    running = index;
    threadIdx.x = index % blockDim.x;
    threadIdx.y = index / blockDim.x % blockDim.y;
    threadIdx.z = index / (blockDim.x * blockDim.y);
}

static void body(void) {
    entry(arguments);
    fibers[running].state = DONE;
    switch_places(&fibers[running].at, &scheduler);
}

static void give_way(int state) {
    int own = running;
    fibers[own].state = state;
    switch_places(&fibers[own].at, &scheduler);
    set_thread(own);
}

// A shared array of a block, at its declaration.
void stand_in_share(void *array, size_t bytes) {
    shared_bytes_declared += bytes;
    memset(array, 0xff, bytes);
}

void stand_in_wait_block(void) { give_way(AT_BLOCK); }
void stand_in_wait_warp(void) { give_way(AT_WARP); }

double stand_in_warp_xor_double(double value, int lane) {
    fibers[running].given = value;
    give_way(AT_SHUFFLE);
    double other = fibers[running ^ lane].given;
    // Nobody may give its next value before all have read.
    give_way(AT_SHUFFLE);
    return other;
}

float stand_in_warp_xor(float value, int lane) { return (float)stand_in_warp_xor_double(value, lane); }

// Whether all of the threads from `start` that are not done stand at `state`, at least one of them.
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

static void prepare(int threads) {
    if (!fibers) fibers = calloc(MOST, sizeof(fiber));
    for (int i = 0; i < threads; i++) {
        if (!fibers[i].stack) fibers[i].stack = malloc(STACK);
        begin_at(&fibers[i].at, fibers[i].stack, STACK, body);
        fibers[i].state = READY;
    }
}

static int run_ready(int start, int count) {
    int ran = 0;
    for (int turn = 0; turn < count; turn++) {
        int i = start + in_order(turn, count);
        if (fibers[i].state != READY) continue;
        set_thread(i);
        switch_places(&scheduler, &fibers[i].at);
        ran = 1;
    }
    return ran;
}

// What is wrong with the kernel, if anything.
static int run_block(int threads) {
    prepare(threads);
    for (;;) {
        int moved = 0;
        int warps = (threads + 31) / 32;
        for (int turn = 0; turn < warps; turn++) {
            int warp = 32 * in_order(turn, warps);
            int lanes = threads - warp < 32 ? threads - warp : 32;
            moved |= run_ready(warp, lanes);
            int shuffles = all_at(AT_SHUFFLE, warp, lanes);
            if (shuffles && (lanes < 32 || any_done(warp, lanes))) return SHUFFLES_WITHOUT_ALL;
            if (shuffles || all_at(AT_WARP, warp, lanes)) {
                release(warp, lanes);
                moved = 1;
            }
        }
        if (all_at(AT_BLOCK, 0, threads)) {
            release(0, threads);
            moved = 1;
        }
        if (all_at(DONE, 0, threads)) return NOTHING_WRONG;
        // Some wait for the block and others for their warp, for ever: on a GPU this kernel would hang.
        if (!moved) return WAITS_IN_VAIN;
    }
}

// Whether a launch may have `dynamic` bytes of shared memory, `all` with those of arrays; more than usual must be asked for.
static int may_share(u32 dynamic, size_t all, u32 asked) {
    return all <= SHARED_UNASKED || (dynamic <= asked && all <= SHARED_MOST);
}

// Runs a kernel over a grid; what is wrong with it, if anything. `waits` is 0 for kernels without a point at which
// threads wait: those run as plain loops. A block has `shared_bytes` and what its arrays take.
static int run_grid(void (*kernel)(void **), int waits, dim grid, dim block, u32 shared_bytes, u32 asked_bytes,
                    void **given) {
    int threads = block.x * block.y * block.z;
    unsigned char *shared = malloc(shared_bytes + 64);
    entry = kernel, arguments = given, gridDim = grid, blockDim = block;
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
