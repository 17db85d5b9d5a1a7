package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// ports are the loopback ports of the components; they stay the same when a
// component is stopped and started again.
type ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"kubeAPIServer"`
	ControllerManager int `json:"kubeControllerManager"`
	Scheduler         int `json:"kubeScheduler"`
	Kwok              int `json:"kwok"`
	CertManager       int `json:"certManager"`
	Registry          int `json:"registry"`
}

// Ports come from below every system's ephemeral range: an outgoing connection
// must not take the port of a component that is stopped for a while.
const (
	firstPort = 20000
	lastPort  = 29999
)

func (p ports) server() string { return "https://" + loopback(p.APIServer) }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// choosePorts picks free ports. apiServer fixes the API server's; 0 picks one.
func choosePorts(apiServer int) (ports, error) {
	var chosen ports
	// All listeners stay open until the end, so no port is chosen twice.
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	if apiServer != 0 {
		l, err := net.Listen("tcp", loopback(apiServer))
		if err != nil {
			return ports{}, portError(apiServer, err)
		}
		held = append(held, l)
		chosen.APIServer = apiServer
	}
	for _, port := range []*int{&chosen.APIServer, &chosen.Etcd, &chosen.EtcdPeer, &chosen.ControllerManager,
		&chosen.Scheduler, &chosen.Kwok, &chosen.CertManager, &chosen.Registry} {
		if *port != 0 {
			continue
		}
		l, err := listenAnywhere()
		if err != nil {
			return ports{}, err
		}
		held = append(held, l)
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return chosen, nil
}

func portError(port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken by another program; choose another with --api-port, or leave the flag out for a free one", port)
	}
	return fmt.Errorf("listening on port %d: %w; choose another with --api-port", port, err)
}

func listenAnywhere() (net.Listener, error) {
	var last error
	for range 200 {
		l, err := net.Listen("tcp", loopback(firstPort+rand.IntN(lastPort-firstPort+1)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("finding a free port between %d and %d: %w", firstPort, lastPort, last)
}
