//go:build unix

package source

import "syscall"

// courtesy is the nice value of a process that compiles: a tenth of the weight of
// others. Whoever answers a request goes first, and on a machine that is never idle,
// compiling still ends in time.
const courtesy = 10

// yieldToOthers gives this process a low priority, so that compiling does not hold up
// those who answer requests. It needs a process group of its own: on Linux a
// process is many threads, and only a group has one priority. Where it is not
// permitted, everything works, with less courtesy.
func yieldToOthers() {
	if syscall.Setpgid(0, 0) == nil {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, courtesy)
	}
}
