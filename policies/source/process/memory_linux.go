package process

import (
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
)

// setMemoryLimit sets RLIMIT_DATA far above the limit of the heap, because memory may grow
// faster than exitAbove looks. An error is ignored: exitAbove remains.
func setMemoryLimit(bytes int64) {
	// If the machine runs out of memory, this process is ended first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// The heap doubles as it grows, and the runtime reserves more than it uses.
	const reserve = 256 << 20
	if bytes > math.MaxInt64/4 { // no GOMEMLIMIT
		return
	}
	limit := uint64(dataBytes() + 2*bytes + reserve)
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}

// dataBytes is the memory that counts for RLIMIT_DATA, from proc_pid_status(5).
func dataBytes() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib int64
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmData:"); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
	return kib << 10
}
