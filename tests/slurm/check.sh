#!/usr/bin/env bash
# Does Slurm give the same results as one machine? 64 cells as an array of 8 tasks on a private Slurm on loopback; one task
# is killed, one node drained; then status, submit again, merge; files are compared with a local run's, byte for byte.
#   tests/slurm/check.sh [PROGRAM]      without it target/release/fieldtrial, else target/debug/fieldtrial
# Needs (Debian): apt-get install slurm-wlm munge. About a minute. Removes its files, except with KEEP=1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
program=${1:-}
for built in "$root"/target/{release,debug}/fieldtrial; do [ -n "$program" ] || { [ -x "$built" ] && program=$built; }; done
program=$(realpath "${program:?there is no program: cargo build first}")
command -v sbatch >/dev/null || { echo "sbatch is missing: apt-get install slurm-wlm munge" >&2; exit 2; }

work=$(mktemp -d /tmp/fieldtrial-slurm.XXXXXX)
chmod 755 "$work" # munge needs access to its socket
export SLURM_LAB=$work/slurm-lab SLURM_LAB_PORT=${SLURM_LAB_PORT:-26817}
end() {
  "$here/down.sh" >/dev/null 2>&1 || true
  if [ -n "${KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap end EXIT
up=$("$here/up.sh" -n 4 -c 2 -m 1000)
eval "$up"

fail() { echo "FAILED: $*" >&2; KEEP=1; exit 1; }
expect() { # expect CODE COMMAND...: its exit code
  local wanted=$1 code=0; shift
  "$@" >"$work/out" 2>&1 || code=$?
  sed 's/^/    /' "$work/out"
  [ "$code" = "$wanted" ] || fail "$* ended with $code, not $wanted"
}
said() { grep -qE -- "$1" "$work/out" || fail "nothing said: $1"; }
wait_for() { # wait_for SECONDS WHAT COMMAND...
  local seconds=$1 what=$2; shift 2
  for _ in $(seq $((seconds * 10))); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
  squeue; fail "$what: not within $seconds s"
}
queue_is_empty() { [ -z "$(squeue -h)" ]; }

# A path with blanks and a quote, which everything must handle.
project="$work/it's a lab"
mkdir -p "$project/experiments"
cd "$project"
cat > experiments/lab.toml <<'TOML'
name = "lab"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[matrix]
model = ["mlp"]
dataset = ["plane"]
batch-size = [4, 8, 12, 16, 20, 24, 28, 32]
"train.optimizer.lr" = [1e-4, 2e-4, 3e-4, 1e-3, 2e-3, 3e-3, 1e-2, 2e-2]

[train]
epochs = 400
optimizer = { kind = "adam", lr = 1e-3 }

[measure]
warmup-steps = 1

[slurm]
shards = 8
at-once = 6
cpus = 1
memory = 209715200
time = "0:20:00"
setup = ["echo shard $SLURM_ARRAY_TASK_ID on $(hostname)"]
options = { comment = "it's \"quoted\" #1" }
TOML

echo "== one machine"
expect 0 "$program" run experiments/lab.toml --as local --no-report

echo "== dry run"
expect 0 "$program" submit experiments/lab.toml --slurm --dry-run
said 'sbatch --parsable --array=1-8%6'
queue_is_empty || fail "a dry run submits nothing"

echo "== submit"
expect 0 "$program" submit experiments/lab.toml --slurm
said 'submitted job [0-9]+: 8 shards, 64 runs'
journal=reports/lab/shards/3-of-8.jsonl
two_runs() { [ "$(wc -l < "$journal")" -ge 2 ]; }
wait_for 60 "two runs of shard 3" two_runs
# The job's own process: the only one whose folder is this project.
victim=
for process in $(pgrep -f -- '--shard 3/8'); do
  [ "$(readlink "/proc/$process/cwd")" = "$project" ] && [ "$(readlink "/proc/$process/exe")" = "$program" ] && victim=$process
done
[ -n "$victim" ] || fail "no process of shard 3"
kill -KILL "$victim"
scontrol update nodename=n2 state=drain reason=test

echo "== status, while it runs"
"$program" status experiments/lab.toml | sed 's/^/    /' || true
expect 0 "$program" submit experiments/lab.toml --slurm --dry-run
wait_for 240 "the end of the first array" queue_is_empty
lines=$(wc -l < "$journal")
[ "$lines" -lt 8 ] || fail "shard 3 was killed and has all of its runs"

echo "== status: shard 3 is stuck"
expect 1 "$program" status experiments/lab.toml
said "^ *3/8 +ended: failed +$lines +0 +$((8 - lines)) "
said '^ *1/8 +complete +8 +0 +0 '
said 'submits 1 shard again'
grep -q 'missing' reports/lab/slurm/*_merge.log || fail "the first merge says what is missing"

echo "== submit again: only what is left"
expect 0 "$program" submit experiments/lab.toml --slurm
said "1 shard, $((8 - lines)) runs?"
wait_for 120 "the end of the second array" queue_is_empty
expect 0 "$program" status reports/lab
said '^ *all +64 +0 +0'
said 'merge job [0-9]+: ended$'
expect 0 "$program" submit experiments/lab.toml --slurm
said 'nothing to submit: no run is left'

echo "== merged: the same bytes as one machine's"
for file in runs.csv epochs.csv plan.json; do
  cmp "reports/local/$file" "reports/lab/$file" || fail "$file differs"
  sha256sum "reports/lab/$file"
done
[ -s reports/lab/report.md ] || fail "no report"
expect 0 "$program" merge lab
said '8 journals: 0 runs taken, 64 known before'
echo "passed"
