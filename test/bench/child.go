package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// child is a program that runs next to this one and ends with it.
type child struct {
	name, log string
	process   *exec.Cmd
	ended     chan struct{}
}

// startChild starts a program whose output goes to a file.
func startChild(folder, name, program string, env, args []string) (*child, error) {
	c := &child{name: name, log: filepath.Join(folder, name+".log"), process: exec.Command(program, args...), ended: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.process.Stdout, c.process.Stderr = log, log
	c.process.Env = append(os.Environ(), env...)
	c.process.SysProcAttr = endWithParent()
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = c.process.Wait()
		close(c.ended)
	}()
	return c, nil
}

func (c *child) pid() int { return c.process.Process.Pid }

func (c *child) stop() {
	if c != nil {
		_ = c.process.Process.Kill()
		<-c.ended
	}
}

// waitAnswer waits until a URL answers 200.
func (c *child) waitAnswer(ctx context.Context, client *http.Client, url string) error {
	// With a thousand policies, a peer takes its time.
	err := pollFor(ctx, 3*time.Minute, c.name+" at "+url, func() (bool, error) {
		select {
		case <-c.ended:
			return false, errors.New("it has ended")
		default:
		}
		response, err := client.Get(url)
		if err != nil {
			return false, nil
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, tail(c.log))
	}
	return nil
}

// tail is the end of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// freePort is a port of loopback without a listener.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// buildPeers builds the programs of the peers, or finds them in the cache.
func buildPeers(ctx context.Context, names ...string) (map[string]string, error) {
	return installation.BuildPrograms(ctx, os.Stderr, names...)
}
