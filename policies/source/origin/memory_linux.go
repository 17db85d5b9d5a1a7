package origin

import "syscall"

// limitMemory has the system refuse memory beyond the limit, with room for what the
// runtime itself needs. Where it is not permitted, looking at it must do.
func limitMemory(bytes int64) {
	const overhead = 256 << 20
	limit := uint64(bytes + overhead)
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}
