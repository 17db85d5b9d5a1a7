package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func dieWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGKILL
}

func startTime(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	return parseStat(string(stat))
}

// parseStat reads the start time (field 22 of proc(5) stat). The command name
// in field 2 may hold spaces and parentheses, so counting starts after its end.
func parseStat(stat string) (string, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", errors.New("process status without a command name")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("process status with %d fields after the command name", len(fields))
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", errors.New("the process has ended")
	}
	return fields[19], nil
}

// executable is the path of the program that pid runs, empty if unknown.
func executable(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return path
}
