package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// request is what the environment asks for.
type request struct {
	// current asks for the cluster of the current context, and not for one of its own.
	current bool
	// everything asks for all components of a cluster, and not only those that the
	// transcript needs.
	everything bool
	// pods asks for nodes whose Pods run.
	pods       bool
	openclaw   bool
	gatekeeper bool
	// flags are further flags of the manager, each as --name=value or --name.
	flags []string
	once  bool
}

// choices are the variables, and their values other than empty.
var choices = map[string][]string{
	"CLUSTER":    {"current"},
	"COMPONENTS": {"all"},
	"NODES":      {"kwok", "real"},
	"SYSTEMS":    {"openclaw"},
	"GATEKEEPER": {"1"},
}

// flagName is how a flag of the manager is written.
var flagName = regexp.MustCompile(`^--[a-z][-a-z0-9]*$`)

func readRequest(variable func(string) string) (request, error) {
	for name, values := range choices {
		if value := variable(name); value != "" && !isOneOf(value, values) {
			return request{}, fmt.Errorf("%s is %q: use %s, or leave it empty", name, value, strings.Join(values, " or "))
		}
	}
	r := request{
		current:    variable("CLUSTER") == "current",
		everything: variable("COMPONENTS") == "all",
		pods:       variable("NODES") == "real",
		openclaw:   variable("SYSTEMS") == "openclaw",
		gatekeeper: variable("GATEKEEPER") == "1",
		flags:      append([]string(nil), strings.Fields(variable("FLAGS"))...),
		once:       variable("ONCE") == "1",
	}
	if r.current && (r.everything || r.pods || r.openclaw || r.gatekeeper) {
		return request{}, fmt.Errorf("CLUSTER=current uses a cluster as it is: leave COMPONENTS, NODES, SYSTEMS and GATEKEEPER empty")
	}
	for _, flag := range r.flags {
		if name, _, _ := strings.Cut(flag, "="); !flagName.MatchString(name) {
			return request{}, fmt.Errorf("FLAGS has %q: write flags of the manager as --name=value or --name, separated by spaces", flag)
		}
	}
	// Workloads of OpenClaw are worth nothing without the controllers of Deployments and
	// StatefulSets, nor are nodes.
	r.everything = r.everything || r.pods || r.openclaw
	return r, nil
}

func isOneOf(value string, values []string) bool {
	for _, v := range values {
		if v == value {
			return true
		}
	}
	return false
}

// farewell says why the cluster does not stay for the user; empty: it does.
func (r request) farewell() string {
	end, stay := "the cluster has been stopped", "it stays until Ctrl-C"
	if r.current {
		end, stay = "Lintel has been removed from the cluster again", "it stays there until Ctrl-C"
	}
	switch {
	case r.once:
		return end + ", as ONCE=1 asks; without it, in a terminal, " + stay
	case !isTerminal(os.Stdin):
		return end + ", because there is no terminal to end it from; in a terminal " + stay
	}
	return ""
}
