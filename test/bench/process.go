package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is USER_HZ of proc(5), the same on every Linux that Go runs on.
const clockTick = time.Second / 100

// processStat is what a line of /proc/<pid>/stat says.
type processStat struct {
	name     string
	parent   int
	cpu      time.Duration // user and system, of all threads, those that ended included
	children time.Duration // the same of the children that it has waited for
}

// parseStat reads the text of /proc/<pid>/stat. The name may contain anything,
// spaces and parentheses too: it ends at the last one.
func parseStat(text string) (processStat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return processStat{}, fmt.Errorf("%q has no name in parentheses", text)
	}
	fields := strings.Fields(text[end+1:])
	// Numbered from 1 in proc(5); the third comes first here.
	const parent, user, system, childUser, childSystem = 4 - 3, 14 - 3, 15 - 3, 16 - 3, 17 - 3
	if len(fields) <= childSystem {
		return processStat{}, fmt.Errorf("%q has too few fields", text)
	}
	var numbers [5]int
	for i, field := range []int{parent, user, system, childUser, childSystem} {
		var err error
		if numbers[i], err = strconv.Atoi(fields[field]); err != nil {
			return processStat{}, err
		}
	}
	return processStat{
		text[open+1 : end], numbers[0], time.Duration(numbers[1]+numbers[2]) * clockTick, time.Duration(numbers[3]+numbers[4]) * clockTick,
	}, nil
}

// parseMemory reads a field such as VmRSS, in bytes, from the text of /proc/<pid>/status.
func parseMemory(text, field string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in %q", field, text)
}

func statOf(pid int) (processStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(string(text))
}

func residentOf(pid int) (int64, error) { return memoryOf(pid, "VmRSS") }

// peakOf is the highest resident memory that a process has had.
func peakOf(pid int) (int64, error) { return memoryOf(pid, "VmHWM") }

func memoryOf(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(text), field)
}
