#!/usr/bin/env bash
# Checks the program on a machine with a GPU that has no cargo and no network: docs/cuda.md describes the stages.
#
#   tests/gpu/check.sh [OPTION …] [STAGE …]
#
# Stages, in the order of the default:  libraries doctor ops manifests curve twice
#        each in a separate call:       sweep · peers · compiled · profile
#   --program FILE    the program, built by `just cuda-build`    (target/cuda/fieldtrial)
#   --tests FOLDER    its tests, tests-*.gz, built with `--tests`; without them the stage `ops` is skipped    (target/cuda)
#   --limit SECONDS   for all stages together; the rest is marked `not-run`    (570)
#   --dry             tiny sizes, to try this script without a GPU: with a program on the stand-in, PyTorch on the CPU
#
# Continues after failures. Output in $OUT (else target/gpu-check/out): summary.txt (stage, status, seconds, last output
# line), log.txt, results.tar.gz, and the stages' files. Results of `sweep` are kept in target/gpu-check, and the next call
# resumes it. PYTHON names the Python that has PyTorch (python3).
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD

program=target/cuda/fieldtrial tests=target/cuda limit_all=570 dry='' stages=()
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=$2; shift ;;
    --tests) tests=$2; shift ;;
    --limit) limit_all=$2; shift ;;
    --dry) dry=yes ;;
    libraries | doctor | ops | manifests | curve | twice | sweep | peers | compiled | profile) stages+=("$1") ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; [ "$1" = --help ]; exit ;;
  esac
  shift
done
[ ${#stages[@]} -gt 0 ] || stages=(libraries doctor ops manifests curve twice)

python=${PYTHON:-python3}
work=$root/target/gpu-check
out=${OUT:-$work/out}
mkdir -p "$out" "$work/experiments"
out=$(cd "$out" && pwd)
program=$(realpath -m "$program") tests=$(realpath -m "$tests")
cp experiments/*.toml "$work/experiments/"
: >"$out/summary.txt"
: >"$out/log.txt"

# --- steps -----------------------------------------------------------------------------------------------------------

note() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" | tee -a "$out/summary.txt"; }

# check NAME SECONDS COMMAND …: runs the command, a function or a program, and records its status.
check() {
  local name=$1 start=$SECONDS code=0 left=$((limit_all - SECONDS)) end
  limit=$2
  shift 2
  if [ "$left" -lt 5 ]; then note "$name" not-run 0 "no time left"; return; fi
  [ "$limit" -lt "$left" ] || limit=$left
  stop=$((SECONDS + limit))
  printf '\n== %s (at %s s, at most %s s)\n' "$name" "$SECONDS" "$limit" | tee -a "$out/log.txt"
  "$@" >"$work/step.log" 2>&1 || code=$?
  cat "$work/step.log" >>"$out/log.txt"
  tail -n "${tail_lines:-8}" "$work/step.log"
  case $code in
    0) end=ok ;;
    124 | 130 | 137) end=timeout ;;
    77) end=skipped ;;
    *) end="failed($code)" ;;
  esac
  note "$name" "$end" $((SECONDS - start)) "$(grep -v '^ *$' "$work/step.log" | tail -1 | tr '\t' ' ' | cut -c1-300)"
}

# Runs a program within the rest of the step's time; the first signal is an interrupt, so that finished runs are kept.
limited() {
  local left=$((stop - SECONDS))
  [ "$left" -gt 0 ] || return 124
  timeout --signal INT --kill-after 10 "$left" "$@"
}

# run NAME RESULTS ONLY SETTING …: runs the manifest in the work folder and checks that all runs are done.
run() {
  local name=$1 results=$2 only=$3 arguments=() setting
  shift 3
  for setting in "$@"; do arguments+=(--set "$setting"); done
  [ -z "$only" ] || arguments+=(--only "$only")
  (cd "$work" && limited "$program" run "experiments/$name.toml" --as "$results" --retry "${arguments[@]}") || return
  "$python" tests/gpu/results.py 'done' "$work/reports/$results"
}

# --- stages ----------------------------------------------------------------------------------------------------------

libraries() {
  uname -a
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv 2>&1
  echo "FIELDTRIAL_CUDA_LIBRARIES=${FIELDTRIAL_CUDA_LIBRARIES:-}"
  ldconfig -p | grep -E 'libcuda\.so|libcublas\.so|libcudnn\.so|libnvidia-ml\.so'
  limited "$python" - <<'PYTHON'
import glob, os, sys
import torch
print("python", sys.executable, "torch", torch.__version__, "CUDA", torch.version.cuda, "cuDNN", torch.backends.cudnn.version())
packages = os.path.dirname(os.path.dirname(torch.__file__))
for name in ("libcublas.so*", "libcudnn.so*"):
    print("\n".join(glob.glob(f"{packages}/nvidia/*/lib/{name}")) or f"no {name} in {packages}/nvidia")
PYTHON
  ls -l "$program" && limited "$program" --version
}

doctor() {
  limited "$program" doctor --device cuda >"$out/doctor.txt" 2>&1
  local code=$?
  cat "$out/doctor.txt"
  return $code
}

# The tests of the given modules: one process per operation (`ops::conv2d`), several in parallel, since a process is
# unusable after a failed kernel. All are run, and those that failed are listed.
operations() {
  local packed name program groups=() failed=()
  for packed in "$tests"/tests-*.gz; do
    [ -f "$packed" ] || { echo "no tests in $tests: build them by \`just cuda-build --tests\`"; return 77; }
    name=$(basename "$packed" .gz) program=$work/$name
    gunzip -c "$packed" >"$program" && chmod +x "$program" || return
    mkdir -p "$work/operations" && rm -f "$work/operations/$name".*
    "$program" --list "$@" | sed -n 's/: test$//p' | cut -d: -f1-3 | sort -u >"$work/$name.groups" || return
    while read -r group; do groups+=("$name.$group"); done <"$work/$name.groups"
  done
  [ ${#groups[@]} -gt 0 ] || { echo "no tests of $*"; return 1; }
  for group in "${groups[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${TEST_PROCESSES:-6}" ]; do wait -n; done
    operation "${group%%.*}" "${group#*.}" &
  done
  wait
  for group in "${groups[@]}"; do
    name=$work/operations/$group
    [ "$(cat "$name.code")" = 0 ] && continue
    failed+=("${group#*.} ($(cat "$name.code"))")
    printf -- '-- %s\n' "$group"
    tail -n 40 "$name.log"
  done
  echo "$((${#groups[@]} - ${#failed[@]})) of ${#groups[@]} passed${failed[*]:+; failed: ${failed[*]}}"
  [ ${#failed[@]} = 0 ]
}

# operation PROGRAM GROUP: runs its tests; writes their output and exit code into files.
operation() {
  local file=$work/operations/$1.$2 code=0
  limited "$work/$1" "$2::" --test-threads "${TEST_THREADS:-2}" >"$file.log" 2>&1 || code=$?
  echo "$code" >"$file.code"
}

on_cuda='train.device="cuda"'
unet=() paths=('measure.seeds=[42]' measure.ops=false) detector=()
if [ -n "$dry" ]; then
  unet=(models.unet.base-channels=8 models.unet.embed=16 datasets.surfaces.size=8 datasets.surfaces.generate.size=8
    datasets.surfaces.generate.normal=60 datasets.surfaces.generate.abnormal=8)
  paths+=(datasets.brownian.samples=32 datasets.brownian.points=12 datasets.ornstein-uhlenbeck.points=12
    losses.kernel-mmd-4.cut=8 'losses.kernel-scoring={ kind = "kernel-scoring", cut = 8 }')
  detector=(datasets.events.samples=50 datasets.events.voxels=200 models.alt.hidden=24 models.neu.hidden=32)
fi

# Every shipped manifest on the GPU, some steps of each.
manifests() {
  check "manifest quickstart" 60 run quickstart quickstart '' "$on_cuda" 'measure.seeds=[42]' train.epochs=5
  check "manifest mlp-scaling" 60 run mlp-scaling mlp-scaling 'datasets.linear.samples=1000|10000' "$on_cuda" \
    'measure.seeds=[42]' measure.repeats=1 train.epochs=5
  check "manifest digits" 60 run digits digits workers=0 "$on_cuda" 'measure.seeds=[42]' train.epochs=2 \
    train.steps-per-epoch=10
  check "manifest paths" 120 run paths paths '' "$on_cuda" "${paths[@]}" train.steps-per-epoch=1
  check "manifest ddpm" 60 run ddpm ddpm-cuda batch-size=8 'matrix.device=["cuda"]' "${unet[@]}" measure.repeats=1
  check "manifest ddpm-sample" 60 run ddpm-sample ddpm-sample '' "$on_cuda" "${unet[@]}" train.epochs=1 \
    train.steps-per-epoch=10 'train.schedule={ kind = "constant" }' 'validation.sampling.samplers=["ddim"]' \
    validation.sampling.ddim-steps=5
  check "manifest detector" 90 run detector detector 'variant=before|after' "$on_cuda" "${detector[@]}" \
    'measure.seeds=[42]' train.epochs=1 train.steps-per-epoch=5 validation.batches=2 \
    'validation.verification={ events = 10, ddim-steps = 5, draws = 3 }' 'validation.selection={ pmts = 20, events = 10 }'
  check "manifest precisions" 60 run ddpm precisions batch-size=8,workers=0 'matrix.device=["cuda"]' "${unet[@]}" \
    'matrix.precision=["f32", "tf32", "amp", "bf16"]' measure.repeats=1 measure.ops=false train.steps-per-epoch=20
}

# The losses of 100 steps of the paper-size U-Net from the same weights, on both devices.
both_curves() {
  local device
  for device in cpu cuda; do
    run ddpm "curve-$device" batch-size=8,workers=0 "matrix.device=[\"$device\"]" "${unet[@]}" measure.repeats=1 \
      measure.ops=false train.epochs=5 train.steps-per-epoch=$([ -n "$dry" ] && echo 4 || echo 20) || return
  done
  "$python" tests/gpu/results.py curve "$work/reports/curve-cpu" "$work/reports/curve-cuda" 1 "$out/curve.csv"
}

# The same cell twice: equal weights, bit by bit, in f32.
twice_unet() {
  local turn
  for turn in 1 2; do
    run ddpm "twice-unet-$turn" batch-size=8,workers=4 'matrix.device=["cuda"]' "${unet[@]}" measure.repeats=1 \
      measure.ops=false train.epochs=2 train.steps-per-epoch=15 || return
  done
  "$python" tests/gpu/results.py same "$work/reports/twice-unet-1" "$work/reports/twice-unet-2"
}

twice_mlp() {
  local turn
  for turn in 1 2; do
    run quickstart "twice-mlp-$turn" '' "$on_cuda" 'measure.seeds=[42]' train.epochs=5 || return
  done
  "$python" tests/gpu/results.py same "$work/reports/twice-mlp-1" "$work/reports/twice-mlp-2"
}

# The report is also rendered if the time was not sufficient: the next call resumes.
sweep() {
  local settings=("${unet[@]}") only=''
  [ -z "$dry" ] || settings+=(measure.repeats=1 train.steps-per-epoch=3)
  [ -z "$dry" ] || only='batch-size=8|16,workers=0'
  run ddpm-h200 ddpm-h200 "$only" "${settings[@]}"
  local code=$?
  if [ $code != 0 ] && [ -f "$work/reports/ddpm-h200/runs.csv" ]; then
    (cd "$work" && timeout 60 "$program" report reports/ddpm-h200 | tail -3)
    "$python" tests/gpu/results.py 'done' "$work/reports/ddpm-h200"
  fi
  return $code
}

side_by_side() {
  local options=(--program "$program" --work "$work/peers" --out "$1" --modes "$2" --turns "$3")
  [ -z "$dry" ] || options+=(--dry --precisions f32)
  # It respects the time limit itself, so that its table is printed.
  limited "$python" tests/gpu/peers.py "${options[@]}" --limit $((limit - 20))
}

# Where the time of a U-Net step goes: our own profile, and the kernels' times if Nsight Compute is installed.
profile() {
  run ddpm profile 'batch-size=8|64,workers=4' 'matrix.device=["cuda"]' "${unet[@]}" measure.repeats=1 \
    'report.templates=["profiling"]' || return
  command -v ncu >/dev/null || { echo "no ncu here"; return 0; }
  (cd "$work" && limited ncu --clock-control none --target-processes all --launch-skip 3000 --launch-count 1500 \
    --metrics gpu__time_duration.sum --csv --log-file "$out/ncu.csv" "$program" run experiments/ddpm.toml --fresh \
    --as ncu --no-report --only batch-size=8,workers=0 --set 'matrix.device=["cuda"]' --set measure.repeats=1 \
    --set measure.ops=false --set train.steps-per-epoch=10)
}

for stage in "${stages[@]}"; do
  case $stage in
    libraries) tail_lines=30 check libraries 60 libraries ;;
    doctor) tail_lines=60 check doctor 150 doctor ;;
    ops)
      tail_lines=40
      check "tests of operations" 200 operations device:: ops::
      check "tests of layers, models, optimizers, training" 150 operations layers:: models:: losses:: optim:: tasks:: train::
      unset tail_lines
      ;;
    manifests) manifests ;;
    curve) check "loss curve, CPU and GPU" 240 both_curves ;;
    twice)
      check "twice the same U-Net" 60 twice_unet
      check "twice the same MLP" 60 twice_mlp
      ;;
    sweep) check sweep 560 sweep ;;
    peers) tail_lines=25 check "beside PyTorch, eager" 560 side_by_side "$out/peers.csv" eager,best 2 ;;
    compiled) tail_lines=25 check "beside PyTorch, compiled" 560 side_by_side "$out/peers-compiled.csv" compiled 1 ;;
    profile) check profile 240 profile ;;
  esac
done

# Facts, times and pages of all results, and the files needed to resume; no checkpoints.
if [ -d "$work/reports" ]; then
  tar -C "$work" -czf "$out/results.tar.gz" --exclude checkpoints --exclude tensorboard --exclude 'trace' reports
fi
printf '\n== summary (%s s)\n' "$SECONDS"
cat "$out/summary.txt"
! grep -qE $'\t(failed|timeout|not-run)' "$out/summary.txt"
