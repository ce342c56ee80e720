#!/bin/sh
# Submits a job and prints its id, and nothing else.
#   submit.sh RULE THREADS MEMORY_MB MINUTES GPUS QUEUE SCRIPT
set -eu
rule=$1 threads=$2 memory=$3 minutes=$4 gpus=$5 queue=$6 script=$7
logs=.snakemake/cluster-logs
mkdir -p "$logs"

# PBS Pro, OpenPBS:
#   exec qsub -N "$rule" -q "$queue" -j oe -o "$logs/" -l "walltime=$((minutes * 60))" \
#       -l "select=1:ncpus=$threads:mem=${memory}mb:ngpus=$gpus" "$script"
# Grid Engine; `smp` and `gpu` are what many sites call them, and memory is meant for each slot:
#   exec qsub -terse -N "$rule" -q "$queue" -cwd -V -j y -o "$logs" -pe smp "$threads" \
#       -l "h_rt=$((minutes * 60)),h_vmem=$((memory / threads))M,gpu=$gpus" "$script"
exec sbatch --parsable --job-name="$rule" --partition="$queue" --output="$logs/%j.log" \
    --cpus-per-task="$threads" --mem="$memory" --time="$minutes" --gpus="$gpus" "$script"
