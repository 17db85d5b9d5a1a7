//go:build !linux

package main

import (
	"errors"
	"io"
)

func becomeNode(string, io.Writer) error { return errors.ErrUnsupported }
