package installation

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a process when this one dies, and keeps Ctrl-C in the
// terminal from reaching it first.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
