//go:build !linux

package process

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has no equivalent here: after a crash the next command on the state directory
// ends remaining processes, by recorded identity.
func dieWithParent(*syscall.SysProcAttr) {}

func startTime(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", err
	}
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !found || strings.HasPrefix(state, "Z") {
		return "", errors.New("the process has ended")
	}
	return strings.TrimSpace(started), nil
}

// executable is the path of the program that pid runs, empty if unknown.
func executable(pid int) string {
	out, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
