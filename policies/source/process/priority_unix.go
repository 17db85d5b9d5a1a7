//go:build unix

package process

import "syscall"

// niceness is the nice value of a child: about a tenth of the CPU weight of other processes,
// so that reviews go first and work still ends on a machine that is never idle.
const niceness = 10

// lowerPriority lowers the priority of this process. On Linux only a process group has one
// priority for all threads, so the process becomes the leader of a new group. An error is
// ignored: the work is the same with any priority.
func lowerPriority() {
	if syscall.Setpgid(0, 0) == nil {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness)
	}
}
