package store

import (
	"context"
	"encoding/binary"
	"net"

	"google.golang.org/grpc/credentials"
)

// Parts of an HTTP/2 SETTINGS frame (RFC 9113, sections 4.1 and 6.5).
const (
	frameHeaderBytes     = 9
	settingBytes         = 6
	settingsFrame        = 0x4
	maxConcurrentStreams = 0x3
	// maxSettingsBytes limits how much of a server's first frame is stored.
	maxSettingsBytes = 1 << 10
)

// limitReader is the transport credentials of a connection. They read the server's limit of concurrent
// streams from the first frame of each connection: gRPC knows the limit, does not expose it, and
// blocks calls that exceed it.
type limitReader struct {
	credentials.TransportCredentials
	on *pooledConnection
}

// ClientHandshake implements credentials.TransportCredentials.
func (l limitReader) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return &settingsConn{Conn: conn, on: l.on}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (l limitReader) Clone() credentials.TransportCredentials {
	return limitReader{l.TransportCredentials.Clone(), l.on}
}

// settingsConn keeps the first frame that is read until it is complete.
type settingsConn struct {
	net.Conn
	on    *pooledConnection
	first []byte
	done  bool
}

// Read implements net.Conn. One goroutine reads at a time.
func (c *settingsConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.done {
		c.first = append(c.first, into[:min(n, maxSettingsBytes-len(c.first))]...)
		limit, done := parseSettings(c.first)
		if done {
			c.on.limit.Store(limit)
		}
		if c.done = done || len(c.first) == maxSettingsBytes; c.done {
			c.first = nil
		}
	}
	return n, err
}

// parseSettings returns the limit that a SETTINGS frame sets: 0 for none. It is not done
// while the frame is incomplete. Another frame sets no limit.
func parseSettings(frame []byte) (limit uint32, done bool) {
	if len(frame) < frameHeaderBytes {
		return 0, false
	}
	length := int(frame[0])<<16 | int(frame[1])<<8 | int(frame[2])
	if frame[3] != settingsFrame {
		return 0, true
	}
	if len(frame) < frameHeaderBytes+length {
		return 0, false
	}
	for payload := frame[frameHeaderBytes : frameHeaderBytes+length]; len(payload) >= settingBytes; payload = payload[settingBytes:] {
		if binary.BigEndian.Uint16(payload) == maxConcurrentStreams {
			limit = max(1, binary.BigEndian.Uint32(payload[2:]))
		}
	}
	return limit, true
}
