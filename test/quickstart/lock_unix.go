//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errTaken says that another process has the lock.
var errTaken = errors.New("another process has it")

// takeLock takes the lock until this process ends in any way: the kernel releases it, so that a
// crash does not block other runs. Programs started from here do not inherit it.
func takeLock(path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("taking %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("taking %s: %w", path, err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		file.Close()
		return nil, fmt.Errorf("taking %s: %w", path, errTaken)
	case err != nil:
		file.Close()
		return nil, fmt.Errorf("taking %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}
