#!/bin/sh
# Prints what became of a job, given its id: running, success or failed.

# PBS Pro, OpenPBS: `qstat -x -f -F dsv "$1"` has job_state and, when that is F, Exit_status.
# Grid Engine: `qstat -j "$1"` knows jobs that wait or run, `qacct -j "$1"` has exit_status after.
#
# A scheduler that does not answer is asked again; a job that it does not know any more is lost.
jobs=$(squeue --me --noheader --states=all --format='%i %T') || { echo running; exit; }
case $(echo "$jobs" | sed -n "s/^$1 //p") in
    COMPLETED) echo success ;;
    PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED | REQUEUED | STAGE_OUT) echo running ;;
    *) echo failed ;;
esac
