#!/usr/bin/env bash
# Measure a history on several nodes of the same kind: the tasks of a job array, numbered from 1, share the launches that are missing.
#
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,HISTORY=h200 docs/slurm.sh 2.10..
#   sbatch --array=1-5 --gres=gpu:1 --export=ALL,HISTORY=h200,INTERPRETER=/opt/conda/bin/python docs/slurm.sh
#
# Submit it from a checkout. Each task works in its own clone on its node; all add their launches to COLLECTED, a folder that every node
# can write (by default measured/ in the checkout that it was submitted from). When all tasks are done: cp -rn measured/. results/
# An interrupted task goes on when it is submitted again.
set -euo pipefail

: "${HISTORY:?set HISTORY to the folder in results}"
collected="${COLLECTED:-$SLURM_SUBMIT_DIR/measured}"
work="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/tensorcopy-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID"

git clone --quiet "$SLURM_SUBMIT_DIR" "$work"
cd "$work"
tensorcopy="${TENSORCOPY:-uv run --no-default-groups --extra dashboard tensorcopy}"
mkdir -p "$collected"
if [ -d results ]; then # what is known counts
    cp -rn results/. "$collected/" # never over a file that is there
    rm -r results
fi
ln -s "$collected" results # a launch is a file of its own, created as a whole: no task disturbs another

shard="$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" # of the launches that are missing when the tasks begin
$tensorcopy measure "$@" --shard "$shard" ${INTERPRETER:+--interpreter "$INTERPRETER"} --history "$HISTORY" ${LAUNCHES:+--launches "$LAUNCHES"}
