# Every recipe is one plain command that works without just too. Arguments reach it as they were typed: in `"$@"`, never
# pasted into the line, which the shell would split and expand once more.
set positional-arguments

[private]
default:
    @just --list

# Run a manifest: `just run experiments/ddpm.toml`
[group('lab')]
run FILE *ARGS:
    cargo run --release -- run "$@"

# Show what a manifest would run, and why
[group('lab')]
plan FILE *ARGS:
    cargo run --release -- plan "$@"

# Render the report of a results folder again
[group('lab')]
report FOLDER *ARGS:
    cargo run --release -- report "$@"

# Compare another commit with the working tree, both builds in turns: `just ab HEAD~1 experiments/ddpm.toml`
[group('lab')]
ab *ARGS:
    cargo run --release -- ab "$@"

# Compare two results, or the working tree with a commit: `just compare main`
[group('lab')]
compare BEFORE *ARGS:
    cargo run --release -- compare "$@"

# Show at which commits times changed: `just history ddpm`
[group('lab')]
history *ARGS:
    cargo run --release -- history "$@"

# Measure everything that is shipped, on an idle machine, in twenty minutes to an hour, and say what changed
[group('lab')]
results:
    .ci/results

# Compare a model with weights and gradients exported from PyTorch
[group('lab')]
verify FILE *ARGS:
    cargo run --release -- verify "$@"

# Let `git diff` of results show one changed value a line, with its key: once for every clone
[group('lab')]
git-setup:
    cargo build --release
    git config diff.fieldtrial.textconv "'{{justfile_directory()}}/target/release/fieldtrial' textconv"
    git config diff.fieldtrial.xfuncname '^# (.*)$'

# Build for NVIDIA GPUs on any x86-64 Linux: brings NVIDIA's compiler from PyPI into a cache folder (docs/cuda.md)
[group('build')]
cuda-build *ARGS:
    .ci/cuda-build "$@"

# Build for NVIDIA GPUs with this machine's CUDA toolkit
[group('build')]
cuda-build-toolkit *ARGS:
    .ci/cuda-build --toolkit "$@"

# All tests
[group('test')]
test *ARGS:
    cargo test "$@"

# The heavy tests: a rebuild on another branch, 100,000 cells, the paper-size U-Net
[group('test')]
test-heavy:
    cargo test --release -- --ignored --test-threads 1

# Shards through a Slurm of our own on loopback (Debian: slurm-wlm, munge): one task killed, one node drained
[group('test')]
test-slurm *ARGS:
    cargo build --release
    tests/slurm/check.sh "$@"

# A search that is killed fifty times ends as if nothing had been: a few minutes
[group('test')]
test-search-kill:
    cargo test --release --test it -- search_kill:: --ignored --nocapture

# Hostile manifests, results, data, templates, names and programs, signals and limits, ten minutes long: docs/architecture.md
[group('test')]
attack *ARGS:
    cargo build --release
    python3 tests/attack/attack.py "$@"

# The CUDA path on its stand-in, which computes on the CPU: every operation, and the whole program
[group('test')]
test-cuda *ARGS:
    [ $# -gt 0 ] || set -- device:: ops:: layers:: models:: losses:: optim:: tasks:: train:: verify::; cargo test --package fieldtrial-kernels --package fieldtrial-engine --features cuda-stand-in --lib -- "$@"
    cargo test --features cuda-stand-in --test it -- cuda::

# The observer on programs of Lightning, transformers, timm, torchvision, Accelerate and torchrun, where `FIELDTRIAL_PYTHON` has them
[group('test')]
test-pytorch:
    cargo test --test it -- pytorch --include-ignored --nocapture

# Mutants of valid inputs for every reader: `FIELDTRIAL_FUZZ_SECONDS=600 just fuzz` for as long in each format
[group('test')]
fuzz *ARGS:
    cargo test --release --test it -- readers:: --ignored --nocapture "$@"

# AddressSanitizer over kernels and loader, ThreadSanitizer over loader and processes (Linux, x86-64; `rustup component add rust-src`; builds everything anew)
[group('test')]
sanitize:
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --target x86_64-unknown-linux-gnu --target-dir target/asan --package fieldtrial-kernels --lib
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --target x86_64-unknown-linux-gnu --target-dir target/asan --package fieldtrial-engine --lib -- loader:: datasets::
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread cargo test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan --package fieldtrial-engine --lib -- loader::
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread cargo test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan --package fieldtrial-lab --lib -- execute::

# Review and accept changed snapshots
[group('test')]
accept:
    INSTA_UPDATE=always cargo test

# What CI runs, in that order
[group('check')]
check: fmt-check clippy doc check-cuda test test-cuda

# Formatting
[group('check')]
fmt-check:
    cargo fmt --check

# Lints, warnings denied
[group('check')]
clippy:
    cargo clippy --all-targets -- -D warnings

# Documentation without warnings, of all modules; `cargo doc` shows users what they need
[group('doc')]
doc:
    RUSTDOCFLAGS="-D warnings --cfg internals" cargo doc --no-deps --document-private-items

# Lint the CUDA path; needs no toolkit and no GPU
[group('check')]
check-cuda:
    cargo clippy --all-targets --features cuda-stand-in -- -D warnings

# Type-check for arm64 Linux, macOS and Windows with this compiler (`rustup component add rust-src`); docs/installing.md
[group('check')]
check-targets:
    RUSTC_BOOTSTRAP=1 cargo check -Zbuild-std --locked --target-dir target/targets --target aarch64-unknown-linux-gnu --target aarch64-apple-darwin --target x86_64-pc-windows-msvc

# Optimised, since an emulated instruction takes several times as long.
# All tests on emulated arm64 Linux (Debian: gcc-aarch64-linux-gnu qemu-user-binfmt; `rustup target add aarch64-unknown-linux-gnu`); docs/installing.md
[group('check')]
test-arm64 *ARGS:
    CARGO_PROFILE_DEV_OPT_LEVEL=1 QEMU_LD_PREFIX=/usr/aarch64-linux-gnu CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        cargo test --locked --target aarch64-unknown-linux-gnu --target-dir target/arm64 "$@"

# Every way of installing, each tried in an empty folder: crates, `cargo install`, wheel; and a lint of the Dockerfile
[group('check')]
dist:
    .ci/dist

# On a machine with a GPU, from the carried program: does all of it work, how fast is it beside PyTorch? (docs/cuda.md)
[group('check')]
check-gpu *ARGS:
    tests/gpu/check.sh "$@"

# Read event files and traces back by TensorBoard (a Python with `pip install tensorboard`)
[group('check')]
check-tensorboard PYTHON="python3":
    "$1" tests/closer.py

# Write the manifest's JSON Schema anew
[group('doc')]
schema:
    cargo run --release -- schema > experiments/manifest.schema.json

# What a trial costs beside its training: ten thousand empty ones, two at a time
[group('bench')]
bench-trials:
    cargo test --release --test it -- search_overhead:: --ignored --nocapture

# Time the operations, models, the loader and the planner
[group('bench')]
bench *ARGS:
    cargo bench "$@"

# Training steps beside PyTorch's, in turns, with ratios and intervals (a Python with `pip install torch`; benches/peers/README.md)
[group('bench')]
bench-peers *ARGS:
    cargo build --release
    "${PYTHON:-python3}" benches/peers/beside.py "$@"
