package process

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// exitMemory is the exit code of a child that exceeded its memory limit.
const exitMemory = 3

// Serve runs a child that answers one request. It returns the exit code of the process.
func Serve[Request any](stdin io.Reader, stdout, stderr io.Writer, work func(Request) (any, error)) int {
	return ServeConversation(stdin, stdout, stderr, func(requests *json.Decoder, answers *json.Encoder) error {
		var request Request
		if err := requests.Decode(&request); err != nil {
			return err
		}
		answer, err := work(request)
		if err != nil {
			return err
		}
		return answers.Encode(answer)
	})
}

// ServeConversation runs a child that answers several requests, within the limits of its
// parent. It returns the exit code of the process.
func ServeConversation(stdin io.Reader, stdout, stderr io.Writer, answer func(requests *json.Decoder, answers *json.Encoder) error) int {
	memory := debug.SetMemoryLimit(-1) // the value of GOMEMLIMIT
	lowerPriority()
	setMemoryLimit(memory)
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // a short-lived process rarely needs to collect garbage
	debug.SetMaxStack(int(memory))
	go exitAbove(memory)
	if err := answer(json.NewDecoder(stdin), json.NewEncoder(boundedWriter{stdout, memory})); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// boundedWriter is the output of a process that ends instead of writing it once the process has used
// too much memory. exitAbove looks from time to time: on a busy machine, work may end between two
// looks.
type boundedWriter struct {
	io.Writer
	bytes int64
}

// Write implements io.Writer.
func (w boundedWriter) Write(text []byte) (int, error) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if exceeds(&stats, w.bytes) {
		os.Exit(exitMemory)
	}
	return w.Writer.Write(text)
}

// exceeds reports whether the heap exceeds a number of bytes, or was far larger: the memory that the
// runtime has obtained for the heap never shrinks. It contains garbage and gaps, of which the limit
// of the runtime leaves few when memory is short.
func exceeds(stats *runtime.MemStats, bytes int64) bool {
	return int64(stats.HeapAlloc) > bytes || float64(stats.HeapSys) > 1.5*float64(bytes)+heapReserve
}

// heapReserve is what the runtime may obtain ahead of its use.
const heapReserve = 16 << 20

// exitAbove ends the process once its heap exceeds a number of bytes, before the machine
// runs out of memory.
func exitAbove(bytes int64) {
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if exceeds(&stats, bytes) {
			os.Exit(exitMemory)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
