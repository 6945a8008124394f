#!/bin/busybox sh
# guest_report.sh NAME TRIGGER: an agent with one trigger, a program that hurts in a cgroup of
# version 2, and what the agent's log says of the report. For tests/kernels/reports_test.py.
name=$1 trigger=$2 folder=/sys/fs/cgroup/shop
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p $folder
echo max >$folder/memory.max
echo max >$folder/memory.high
cat >/stackray.yaml <<END
reports:
  profile: 1s
  free-space: 1MiB
  triggers:
    - {name: $name, $trigger}
END
$STACKRAY agent --config /stackray.yaml --state-dir /state-$name --listen 0 2>/log &
agent=$!
i=0
until grep -q 'info: sampling ' /log || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done
sleep 2
case $name in
  oom) echo 48M >$folder/memory.max ;;
  *) echo 24M >$folder/memory.high ;;
esac
# A line without an end grows in memory.
sh -c "echo \$\$ >$folder/cgroup.procs; exec tail /dev/zero" >/dev/null 2>&1 &
hog=$!
i=0
until grep -qE 'is there: |given up' /log || [ $((i += 1)) -gt 900 ]; do sleep 0.1; done
cat $folder/memory.pressure
ls -l /state-$name/reports
kill $hog 2>/dev/null
kill $agent
wait $agent
cat /log
