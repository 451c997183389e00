#!/usr/bin/env bash
# Written by railwright from the plan; a change here is lost when it is rendered again.
# Runs perftest and the tests of collectives in pods, and lets railwright explain judge what they print.
namespace=deepseek
sets=1
each=2
most=64
gpus=8
nics=8
machine=hgx-h100
nodes=2
tests='all_gather all_reduce alltoall'
program=/opt/railwright/pod.sh

#   run-tests.sh [perftest|collectives|mpijob]...   by default perftest and collectives; mpijob needs the MPI operator
#   RESULTS=FOLDER     where to save what they print, by default test-results
#   CLUSTER=FILE       the cluster file, by which railwright explain judges that; without it, by the machine of the plan
#   CONTEXT=NAME       of the kubeconfig, by default its current one
#   WORKERS=N          perftest: machines that take part, in pairs, by default 2; the others: pods of each set, by default all, or as
#                      many as fit one command
#   WAIT=10m           how long pods may take to start; KEEP=yes leaves them there
#   DMABUF=yes|no      perftest: by which way GPU memory is registered, by default what the machine has
# Exit status: the worst that explain says (0 pass, 1 failed, 2 unknown); 2 if a test could not be run, 64 wrong usage.
