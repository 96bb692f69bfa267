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
    dim index;
    int state, shuffles;
    // What it gives to its shuffles, the even and the odd ones: who is at the next one may not overwrite what others still read.
    double given[2];
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
// What of the warp comes after the running thread ends here.
static __thread int warp_end;
static __thread int backwards;
static __thread void (*entry)(void **);
static __thread void **arguments;

int stand_in_set_backwards(int value) { return backwards = value, 0; }

static int in_order(int index, int count) { return backwards ? count - 1 - index : index; }

// Numbers the threads of the blocks that follow, and gives them stacks where they wait.
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

// The next thread of the warp that is ready, from `index` in the order; `warp_end` if there is none.
static int next_ready(int index) {
    int step = backwards ? -1 : 1;
    while (index != warp_end && fibers[index].state != READY) index += step;
    return index;
}

// Waits: the next thread of the warp that is ready goes on, after the last one the scheduler.
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

// A shared array of a block, at its declaration.
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

// Runs what is ready of a warp; whether anything was.
static int run_ready(int start, int count) {
    warp_end = backwards ? start - 1 : start + count;
    int first = next_ready(start + in_order(0, count));
    if (first == warp_end) return 0;
    set_thread(first);
    switch_places(&scheduler, &fibers[first].at);
    return 1;
}

// What is wrong with the kernel, if anything.
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
