package origin

import (
	"os"
	"syscall"
)

// limitMemory has the system refuse memory beyond the limit, with room for what the
// runtime itself needs. Where it is not permitted, looking at it must do.
func limitMemory(bytes int64) {
	const overhead = 128 << 20
	limit := uint64(bytes + overhead)
	// Should memory run out nevertheless, this process goes first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}
