package store

import (
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// streamsEach is how many streams share a connection. Servers know no limit, but proxies
// before them do: 100 is a usual one, and calls wait for ever where streams have taken it
// all.
const streamsEach = 80

// line is a connection, and how many streams are on it.
type line struct {
	connection *grpc.ClientConn
	streams    int
}

// lines are connections to one server. The first is for calls, too.
type lines struct {
	connect func() (*grpc.ClientConn, error)

	mutex sync.Mutex
	all   []*line
}

// take is a place for a stream.
func (l *lines) take() (*line, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, known := range l.all {
		if known.streams < streamsEach {
			known.streams++
			return known, nil
		}
	}
	connection, err := l.connect()
	if err != nil {
		return nil, err
	}
	l.all = append(l.all, &line{connection: connection, streams: 1})
	return l.all[len(l.all)-1], nil
}

// leave gives the place back. A further connection that has no streams is closed.
func (l *lines) leave(from *line) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if from.streams--; from.streams > 0 || from == l.all[0] {
		return
	}
	_ = from.connection.Close()
	l.all = slices.DeleteFunc(l.all, func(known *line) bool { return known == from })
}

func (l *lines) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, known := range l.all {
		_ = known.connection.Close()
	}
}
