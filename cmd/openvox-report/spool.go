package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

// limits bound the stored reports of one endpoint, and the time that a call spends on them.
type limits struct {
	reports int
	bytes   int64
	age     time.Duration
	// resend is how long a call sends earlier reports.
	resend time.Duration
	// pause is the time for which a failed endpoint is not called: reports are stored immediately,
	// because their senders wait.
	pause time.Duration
}

// usual are some hours of the reports of some thousand nodes.
var usual = limits{reports: 10000, bytes: 512 << 20, age: 24 * time.Hour, resend: 3 * time.Second, pause: 15 * time.Second}

// maxUnavailable is after how many reports in a row that an endpoint does not take for now a
// call leaves it alone. One report that it never takes does not hold up the others.
const maxUnavailable = 3

// spoolFolders have a folder for each endpoint.
type spoolFolders struct {
	root string
	limits
	now  func() time.Time
	warn func(string)
}

// spool has a file for each report that an endpoint has not taken.
type spool struct {
	spoolFolders
	endpoint *endpoints.Report
	folder   string
}

func (s spoolFolders) of(endpoint *endpoints.Report) *spool {
	return &spool{s, endpoint, filepath.Join(s.root, endpoint.Name)}
}

// kept is a report in a spool, as its file's name has it.
type kept struct {
	file     string
	received time.Time
	size     int64
}

const (
	lockFile   = ".lock"
	failedFile = ".failed"
	newPrefix  = ".new-"
)

// deliver sends a report, or stores it. It is sent immediately if no other report waits.
func (s *spool) deliver(ctx context.Context, report []byte) error {
	received := s.now()
	waiting, err := s.list()
	if err != nil {
		return s.sendOnly(ctx, report, received, err)
	}
	if len(waiting) == 0 && !s.paused() {
		err := send(ctx, s.endpoint, report, received)
		if err == nil || errors.As(err, new(*refused)) {
			return err
		}
		if _, problem := s.keep(report, received); problem != nil {
			return fmt.Errorf("%w; and it is not kept: %w", err, problem)
		}
		s.failed()
		s.warn(fmt.Sprintf("endpoint %s: the report is stored, and sent later: %v", s.endpoint.Name, err))
		return nil
	}
	file, err := s.keep(report, received)
	if err != nil {
		return s.sendOnly(ctx, report, received, err)
	}
	return s.resend(ctx, file)
}

// sendOnly is for a spool that cannot be used.
func (s *spool) sendOnly(ctx context.Context, report []byte, received time.Time, problem error) error {
	if err := send(ctx, s.endpoint, report, received); err != nil {
		return fmt.Errorf("%w; and it is not kept: %w", err, problem)
	}
	s.warn(fmt.Sprintf("endpoint %s: the report is sent, but could not have been stored: %v", s.endpoint.Name, problem))
	return nil
}

// list has the reports, oldest first.
func (s *spool) list() (all []kept, err error) {
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if one, ok := parse(entry.Name()); ok {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.received.Compare(b.received), strings.Compare(a.file, b.file)) })
	return all, err
}

// parse reads a file's name: when the report was received, its size, and a suffix that makes it
// unique.
func parse(name string) (kept, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return kept{}, false
	}
	received, err := strconv.ParseInt(parts[0], 10, 64)
	size, sizeErr := strconv.ParseInt(parts[1], 10, 64)
	return kept{name, time.Unix(0, received), size}, err == nil && sizeErr == nil
}

// keep writes a report, which then is there as a whole in a file of the name, and makes room
// for it.
func (s *spool) keep(report []byte, received time.Time) (name string, err error) {
	size := int64(len(report))
	if size > s.bytes {
		return "", fmt.Errorf("it has %d bytes, and the spool keeps %d", size, s.bytes)
	}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(s.folder, newPrefix) // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(report)
	if err = errors.Join(err, file.Close()); err == nil {
		name = fmt.Sprintf("%020d-%d-%s", received.UnixNano(), size, strings.TrimPrefix(filepath.Base(file.Name()), newPrefix))
		err = os.Rename(file.Name(), filepath.Join(s.folder, name))
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	if err := s.makeRoom(); err != nil {
		s.warn(fmt.Sprintf("endpoint %s: too many reports may be stored: %v", s.endpoint.Name, err))
	}
	return name, nil
}

// makeRoom deletes reports that are too old, and the oldest ones beyond the limits.
func (s *spool) makeRoom() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, one := range all {
		total += one.size
	}
	dropped := 0
	for i, one := range all {
		if s.now().Sub(one.received) <= s.age && len(all)-i <= s.reports && total <= s.bytes {
			break
		}
		total -= one.size
		if os.Remove(filepath.Join(s.folder, one.file)) == nil { // else another call has dropped or sent it
			dropped++
		}
	}
	if dropped > 0 {
		s.warn(fmt.Sprintf("endpoint %s: %d reports that it has not taken are lost: a spool keeps %d, %d bytes, for %v", s.endpoint.Name, dropped, s.reports, s.bytes, s.age))
	}
	return nil
}

// resend sends the stored reports, oldest first, unless another call does, or the endpoint has
// failed a moment ago. The next call sends the remaining ones. The error is the refusal of the
// report of this call, which is in the file mine.
func (s *spool) resend(ctx context.Context, mine string) error {
	if s.paused() {
		return nil
	}
	unlock, err := s.lock()
	if err != nil {
		s.warn(fmt.Sprintf("endpoint %s: earlier reports are not sent: %v", s.endpoint.Name, err))
	}
	if unlock == nil {
		return nil
	}
	defer unlock()
	waiting, err := s.list()
	if err != nil {
		s.warn(fmt.Sprintf("endpoint %s: earlier reports are not sent: %v", s.endpoint.Name, err))
		return nil
	}
	return s.sendAll(ctx, waiting, mine)
}

func (s *spool) sendAll(ctx context.Context, waiting []kept, mine string) (refusal error) {
	end, failures := time.Now().Add(s.limits.resend), 0
	for i, one := range waiting {
		if time.Now().After(end) {
			return refusal
		}
		path := filepath.Join(s.folder, one.file)
		report, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped
		}
		if err == nil {
			err = send(ctx, s.endpoint, report, one.received)
		}
		switch {
		case err == nil:
			failures = 0
		case errors.As(err, new(*refused)) && one.file == mine:
			refusal = err
		case errors.As(err, new(*refused)):
			s.warn(fmt.Sprintf("endpoint %s: a report of %s is lost: %v", s.endpoint.Name, one.received.UTC().Format(time.RFC3339), err))
		default:
			if failures++; stopsOthers(err) || failures >= maxUnavailable {
				s.failed()
				s.warn(fmt.Sprintf("endpoint %s: %d reports wait to be sent: %v", s.endpoint.Name, len(waiting)-i, err))
				return refusal
			}
			continue
		}
		if err := os.Remove(path); err != nil {
			s.warn(fmt.Sprintf("endpoint %s: a report is sent, and may be again: %v", s.endpoint.Name, err))
		}
	}
	return refusal
}

// lock keeps other calls from sending the same reports: unlock is nil where one does.
func (s *spool) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(s.folder, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, file.Close()
	case err != nil:
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // which unlocks it
}

// failed remembers for other calls that the endpoint has just failed.
func (s *spool) failed() {
	path, now := filepath.Join(s.folder, failedFile), s.now()
	err := os.WriteFile(path, nil, 0o600)
	if err = cmp.Or(err, os.Chtimes(path, now, now)); err != nil {
		s.warn(fmt.Sprintf("endpoint %s: that it fails is not remembered: %v", s.endpoint.Name, err))
	}
}

func (s *spool) paused() bool {
	info, err := os.Stat(filepath.Join(s.folder, failedFile))
	if err != nil {
		return false
	}
	since := s.now().Sub(info.ModTime())
	return since >= 0 && since < s.pause
}

// forget deletes old reports of endpoints that were removed.
func (s spoolFolders) forget(reports endpoints.ReportEndpoints) {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return
	}
	for _, entry := range entries {
		isCurrent := slices.ContainsFunc(reports.Endpoints, func(r endpoints.Report) bool { return r.Name == entry.Name() })
		if entry.IsDir() && !isCurrent {
			if err := s.of(&endpoints.Report{Name: entry.Name()}).makeRoom(); err != nil {
				s.warn(err.Error())
			}
		}
	}
}
