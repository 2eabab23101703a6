#!/usr/bin/env bash
# A history measured by several nodes of one kind: a job array, each task with its share of the passes of every release.
#
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,MACHINE=h200 docs/slurm.sh 2.10..
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,MACHINE=h200,INTERPRETER=/opt/conda/bin/python docs/slurm.sh
#
# Submit it from a checkout. Every task works in a checkout of its own on its node, and leaves its results in COLLECTED (by default
# measured/ of the checkout it was submitted from). When all are done: uv run tensorcopy merge measured/*
# A task that was interrupted goes on where it was when it is submitted again.
set -euo pipefail

: "${MACHINE:?name the kind of machine, as it shall stand in results}"
task="$SLURM_ARRAY_TASK_ID" tasks="$SLURM_ARRAY_TASK_COUNT"
collected="${COLLECTED:-$SLURM_SUBMIT_DIR/measured}/$task"
work="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/tensorcopy-${SLURM_ARRAY_JOB_ID}-$task"

git clone --quiet "$SLURM_SUBMIT_DIR" "$work"
trap 'mkdir -p "$collected" && cp -R "$work/results/." "$collected"' EXIT
cd "$work"
if [ -d "$collected" ]; then cp -R "$collected/." results; fi

case "${CUDA_VISIBLE_DEVICES:-}" in "" | NoDevFiles) device=cpu ;; *) device=cuda ;; esac
tensorcopy="${TENSORCOPY:-uv run --no-dev --extra dashboard tensorcopy}"
$tensorcopy machine --device "$device" || [ -n "${ANYWAY:-}" ] # ANYWAY=1 measures whatever else the node is doing
$tensorcopy measure "$@" ${INTERPRETER:+--interpreter "$INTERPRETER"} --machine "$MACHINE" --shard "$task/$tasks" ${PASSES:+--passes "$PASSES"}
