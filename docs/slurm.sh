#!/usr/bin/env bash
# Measure a history on several nodes of the same kind: a job array in which each task takes a share of the launches.
#
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,MACHINE=h200 docs/slurm.sh 2.10..
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,MACHINE=h200,INTERPRETER=/opt/conda/bin/python docs/slurm.sh
#
# Submit it from a checkout. Each task works in its own clone on its node and copies its results to COLLECTED (by default measured/ in
# the checkout that it was submitted from). When all tasks are done: uv run tensorcopy merge measured/*
# An interrupted task resumes when it is submitted again.
set -euo pipefail

: "${MACHINE:?set MACHINE to the name of this kind of machine in results}"
task="$SLURM_ARRAY_TASK_ID" tasks="$SLURM_ARRAY_TASK_COUNT"
collected="${COLLECTED:-$SLURM_SUBMIT_DIR/measured}/$task"
work="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/tensorcopy-${SLURM_ARRAY_JOB_ID}-$task"

git clone --quiet "$SLURM_SUBMIT_DIR" "$work"
trap 'mkdir -p "$collected" && cp -R "$work/results/." "$collected"' EXIT
cd "$work"
if [ -d "$collected" ]; then cp -R "$collected/." results; fi

case "${CUDA_VISIBLE_DEVICES:-}" in "" | NoDevFiles) device=cpu ;; *) device=cuda ;; esac
tensorcopy="${TENSORCOPY:-uv run --no-default-groups --extra dashboard tensorcopy}"
$tensorcopy machine --device "$device" || [ -n "${ANYWAY:-}" ] # ANYWAY=1 measures even if the node is busy
$tensorcopy measure "$@" ${INTERPRETER:+--interpreter "$INTERPRETER"} --machine "$MACHINE" --shard "$task/$tasks" ${LAUNCHES:+--launches "$LAUNCHES"}
