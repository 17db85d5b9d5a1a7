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
	if err := answer(json.NewDecoder(stdin), json.NewEncoder(stdout)); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// exitAbove ends the process once its heap exceeds a number of bytes, before the machine
// runs out of memory.
func exitAbove(bytes int64) {
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if int64(stats.HeapAlloc) > bytes {
			os.Exit(exitMemory)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
