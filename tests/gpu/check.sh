#!/usr/bin/env bash
# Checks the program on a machine with a GPU that has no cargo and no network: docs/cuda.md describes visits and stages.
#
#   tests/gpu/check.sh [OPTION …] first      does it work, how fast is the U-Net beside PyTorch, where does its time go?
#   tests/gpu/check.sh [OPTION …] second     the sweep of batch sizes and its report, other models, compiled PyTorch, faults
#   tests/gpu/check.sh [OPTION …] STAGE …    of: libraries ceilings doctor ops unet kernels twice curve manifests
#                                            sweep next compiled peers faults observer
#   --program FILE    the program, or packed, built by `just cuda-build --tests`    (target/cuda/fieldtrial.gz)
#   --tests FOLDER    its tests, tests-*.gz; without them the stage `ops` is skipped    (target/cuda)
#   --limit SECONDS   for all stages together; the rest is marked `not-run`    (540)
#   --turns N         how often both sides of `unet` and `observer` take turns    (2)
#   --dry             tiny sizes, to try this script without a GPU: with a program on the stand-in, PyTorch on the CPU
#
# Continues after failures. Output in $OUT (else target/gpu-check/out), complete after every stage: summary.txt (check,
# status, seconds, last output line), log.txt, results.tar.gz (results folders and what the stages wrote). Results of
# `sweep` are kept in target/gpu-check, and the next call resumes it. PYTHON names the Python that has PyTorch (python3),
# PRECISIONS those that `compiled` and `peers` compare (all), WORKLOADS the models of `peers`.
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD

first=(libraries ceilings doctor ops unet kernels twice curve manifests)
second=(sweep next compiled peers faults observer)
program=target/cuda/fieldtrial.gz tests=target/cuda limit_all=540 turns=2 dry='' stages=()
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=$2; shift ;;
    --tests) tests=$2; shift ;;
    --limit) limit_all=$2; shift ;;
    --turns) turns=$2; shift ;;
    --dry) dry=yes ;;
    first) stages+=("${first[@]}") ;;
    second) stages+=("${second[@]}") ;;
    *)
      if [[ " ${first[*]} ${second[*]} " != *" $1 "* ]]; then
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
        [ "$1" = --help ]
        exit
      fi
      stages+=("$1")
      ;;
  esac
  shift
done
[ ${#stages[@]} -gt 0 ] || stages=("${first[@]}")

python=${PYTHON:-python3}
export PYTHONUNBUFFERED=1
work=$root/target/gpu-check
out=${OUT:-$work/out}
# What the stages write, packed into results.tar.gz.
files=$work/files
rm -rf "$files"
mkdir -p "$out" "$files" "$work/experiments"
out=$(cd "$out" && pwd)
program=$(realpath -m "$program") tests=$(realpath -m "$tests")
cp experiments/*.toml "$work/experiments/"
: >"$out/summary.txt"
: >"$out/log.txt"
if [[ $program = *.gz ]]; then
  gunzip -c "$program" >"$work/fieldtrial" && chmod +x "$work/fieldtrial" \
    || echo "no program at $program: \`just cuda-build --tests\` builds it" >&2
  program=$work/fieldtrial
fi

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

# Facts, times and pages of all results, the files needed to resume, and the stages' files; no checkpoints. Replaces the
# archive when it is complete: whoever ends this script finds all results so far.
pack() {
  [ -d "$work/reports" ] || mkdir "$work/reports"
  tar -C "$work" -czf "$work/results.tar.gz" --exclude checkpoints --exclude tensorboard --exclude trace reports files
  mv "$work/results.tar.gz" "$out/"
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
  limited "$program" doctor --device cuda >"$files/doctor.txt" 2>&1
  local code=$?
  cat "$files/doctor.txt"
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
    while [ "$(jobs -rp | wc -l)" -ge "${TEST_PROCESSES:-12}" ]; do wait -n; done
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
  "$python" tests/gpu/results.py curve "$work/reports/curve-cpu" "$work/reports/curve-cuda" 1 "$files/curve.csv"
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

# Reads the GPU's clocks and power twice a second while a command runs: into gpu.csv, by stage.
watched() {
  local watcher='' code=0
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,utilization.gpu,temperature.gpu,clocks_event_reasons.active \
      --format=csv,noheader -lms 500 >>"$files/gpu.csv" &
    watcher=$!
  fi
  "$@" || code=$?
  [ -z "$watcher" ] || kill "$watcher"
  return $code
}

side_by_side() {
  local file=$files/peers-$1.csv turns=$2
  shift 2
  local options=(--program "$program" --work "$work/peers" --out "$file" --turns "$turns" "$@")
  [ -z "$dry" ] || options+=(--dry --precisions f32)
  # It respects the time limit itself, so that its table is printed.
  limited "$python" tests/gpu/peers.py "${options[@]}" --limit $((limit - 10))
}

precisions=(f32 tf32 amp bf16)
[ -z "$dry" ] || precisions=(f32 bf16)

# Where a step of the U-Net goes: our own profile, and the times of all kernels of one step by Nsight Compute, if installed.
kernels() {
  local list precision
  printf -v list '"%s", ' "${precisions[@]}"
  run ddpm profile 'batch-size=64,workers=4' 'matrix.device=["cuda"]' "matrix.precision=[${list%, }]" "${unet[@]}" \
    measure.repeats=1 train.epochs=4 'report.templates=["profiling"]' || return
  command -v ncu >/dev/null || { echo "no ncu here"; return 0; }
  for precision in "${precisions[@]}"; do
    (cd "$work" && limited ncu --clock-control none --target-processes all --launch-skip 1500 --launch-count 1300 \
      --metrics gpu__time_duration.sum --csv --log-file "$files/kernels-$precision.csv" "$program" run experiments/ddpm.toml \
      --fresh --as ncu --no-report --only batch-size=64,workers=0 --set 'matrix.device=["cuda"]' \
      --set "train.precision=\"$precision\"" --set measure.repeats=1 --set measure.ops=false \
      --set train.epochs=4 --set train.steps-per-epoch=3) || return
    "$python" tests/gpu/results.py kernels "$files/kernels-$precision.csv"
  done
}

# The report is also rendered if the time was not sufficient: the next call resumes.
sweep() {
  local settings=("${unet[@]}") only=''
  [ -z "$dry" ] || settings+=(measure.repeats=1 train.steps-per-epoch=3)
  [ -z "$dry" ] || only='batch-size=8|16'
  run ddpm-gpu ddpm-gpu "$only" "${settings[@]}"
  local code=$?
  if [ $code != 0 ] && [ -f "$work/reports/ddpm-gpu/runs.csv" ]; then
    (cd "$work" && timeout 60 "$program" report reports/ddpm-gpu | tail -3)
    "$python" tests/gpu/results.py 'done' "$work/reports/ddpm-gpu"
  fi
  return $code
}

# The sweep's recommendations, tested.
next() {
  local manifest=reports/ddpm-gpu/next.toml
  [ -f "$work/$manifest" ] || { echo "the sweep recommends nothing"; return 77; }
  (cd "$work" && limited "$program" run "$manifest" && "$program" report reports/ddpm-gpu | tail -3)
}

# Images whose attention does not fit are a row `oom`, and the next run is done.
out_of_memory() {
  local large=1024 settings=() one
  [ -z "$dry" ] || large=64
  # The size is an axis here.
  for one in "${unet[@]}"; do [[ $one = datasets.surfaces.size=* ]] || settings+=(--set "$one"); done
  [ -z "$dry" ] || export FIELDTRIAL_STAND_IN_MEMORY=$((48 << 20))
  (cd "$work" && limited "$program" run experiments/ddpm.toml --as oom --fresh --no-report --only batch-size=8,workers=0 \
    --set 'matrix.device=["cuda"]' "${settings[@]}" --set "datasets.surfaces.generate.size=$large" --set datasets.surfaces.generate.normal=30 \
    --set 'datasets.surfaces.path="../data/surfaces-large"' --set "matrix.\"datasets.surfaces.size\"=[$large, $((large / 2)), 8]" \
    --set measure.repeats=1 --set measure.ops=false --set train.epochs=1 --set train.steps-per-epoch=2)
  unset FIELDTRIAL_STAND_IN_MEMORY
  "$python" tests/gpu/results.py statuses "$work/reports/oom" oom 'done'
}

# Two programs share the GPU, and each gives the bits of the other.
two_processes() {
  local codes=() one pids=()
  for one in 1 2; do
    run quickstart "beside-$one" '' "$on_cuda" 'measure.seeds=[42]' train.epochs=5 >"$work/beside-$one.log" 2>&1 &
    pids+=($!)
  done
  for one in "${pids[@]}"; do wait "$one"; codes+=($?); done
  cat "$work"/beside-?.log
  [ "${codes[*]}" = "0 0" ] && "$python" tests/gpu/results.py same "$work/reports/beside-1" "$work/reports/beside-2"
}

# A killed parent leaves no worker behind.
killed_parent() {
  local parent left
  (cd "$work" && exec "$program" run experiments/ddpm.toml --as killed --fresh --no-report --only batch-size=8,workers=0 \
    "${unet[@]/#/--set=}" --set 'matrix.device=["cuda"]' --set train.epochs=100000) &
  parent=$!
  sleep 8
  kill -KILL $parent || return
  for left in 1 2 3 4 5; do
    sleep 1
    pgrep -f "$program" >/dev/null || { echo "no process is left $left s after SIGKILL of the parent"; return 0; }
  done
  pgrep -af "$program"
  return 1
}

# The shipped PyTorch script, observed; the script takes the GPU by itself.
observed_script() {
  cp -r examples "$work/"
  run pytorch pytorch 'matrix=loading,train.batch-size=64' measure.repeats=2 train.epochs=20 || return
  "$python" tests/gpu/results.py columns "$work/reports/pytorch/blocks.csv" measured_steps step_ms samples_per_s data_wait_ms forward_ms \
    loss_ms backward_ms optimizer_ms other_ms
}

for stage in "${stages[@]}"; do
  case $stage in
    libraries) tail_lines=30 check libraries 60 libraries ;;
    ceilings) check ceilings 60 limited "$python" tests/gpu/ceilings.py ${dry:+--device cpu --size 256} ;;
    doctor) tail_lines=60 check doctor 60 doctor ;;
    ops)
      tail_lines=40
      check "tests of operations" 120 operations device:: ops::
      check "tests of layers, models, optimizers, training" 100 operations layers:: models:: losses:: optim:: tasks:: train::
      unset tail_lines
      ;;
    unet) tail_lines=25 check "U-Net beside PyTorch's best eager mode" 200 watched side_by_side unet "$turns" --workloads unet-64 --modes best ;;
    kernels) tail_lines=60 check "where a step of the U-Net goes" 150 watched kernels ;;
    twice)
      check "twice the same U-Net" 60 twice_unet
      check "twice the same MLP" 60 twice_mlp
      ;;
    curve) check "loss curve, CPU and GPU" 90 both_curves ;;
    manifests) manifests ;;
    sweep) check sweep 300 watched sweep ;;
    next) check "the sweep's recommendations" 90 next ;;
    compiled)
      tail_lines=25
      check "U-Net beside compiled PyTorch" 240 side_by_side compiled 1 --workloads unet-64 --modes compiled ${PRECISIONS:+--precisions "$PRECISIONS"}
      ;;
    peers)
      tail_lines=40
      check "other models beside PyTorch's best eager mode" 400 side_by_side others 1 \
        --workloads "${WORKLOADS:-resnet18,gpt,mlp,neu,b2,b3,b5,tep}" --modes best ${PRECISIONS:+--precisions "$PRECISIONS"}
      ;;
    faults)
      check "a batch that does not fit" 60 out_of_memory
      check "two programs on one GPU" 60 two_processes
      check "a killed parent" 30 killed_parent
      ;;
    observer)
      tail_lines=20
      check "the observer of PyTorch programs" 180 limited "$python" tests/gpu/observer.py --turns "$turns" ${dry:+--device cpu --turns 1 --steps 40}
      check "an observed PyTorch script" 120 observed_script
      ;;
  esac
  unset tail_lines
  pack
done

printf '\n== summary (%s s)\n' "$SECONDS"
cat "$out/summary.txt"
! grep -qE $'\t(failed|timeout|not-run)' "$out/summary.txt"
