//go:build !linux

package process

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

// Isolate has no equivalent here; callers require Linux first.
func Isolate(*exec.Cmd) {}

// Namespaces exist on Linux only.
type Namespaces struct{}

// OpenNamespaces is an error here.
func (Identity) OpenNamespaces() (*Namespaces, error) { return nil, errors.ErrUnsupported }

// Close does nothing here.
func (*Namespaces) Close() {}

// Launcher is an error here.
func (*Namespaces) Launcher() (*Launcher, error) { return nil, errors.ErrUnsupported }

// Dial is an error here.
func (*Namespaces) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}
