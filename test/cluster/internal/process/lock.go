package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive file lock. The kernel drops it when its holder dies,
// which makes it the one honest sign of life.
type Lock struct{ file *os.File }

// TryLock takes the lock at path, creating the file, or returns ErrLocked.
func TryLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &Lock{file: file}, nil
}

// WaitLock takes the lock at path as soon as it is free. It calls waiting once
// if another process holds it first.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for told := false; ; {
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// Lost says whether the file at path is no longer the one that is locked: it was deleted, and
// other processes no longer see the lock.
func (l *Lock) Lost(path string) bool {
	held, err := l.file.Stat()
	if err != nil {
		return true
	}
	there, err := os.Stat(path)
	return err != nil || !os.SameFile(held, there)
}

// Unlock releases the lock. The file stays: removing it would let two
// processes hold a lock on the same path.
func (l *Lock) Unlock() { _ = l.file.Close() }
