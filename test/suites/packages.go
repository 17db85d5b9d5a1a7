package main

import "slices"

const modulePath = "github.com/lintel-policy/lintel"

// raced are the packages whose own code starts goroutines or guards state that several of
// them use. In the others the race detector would only cost time.
var raced = []string{
	"cmd/manager", "cmd/openvox-report",
	"controllers/attempt", "controllers/object", "controllers/openclaw",
	"controllers/openvox/issuing", "controllers/openvox/puppet",
	"controllers/openzro", "controllers/openzro/management",
	"controllers/orloj", "controllers/orloj/store", "controllers/policy",
	"controllers/zopp", "controllers/zopp/store",
	"policies/clusterdata", "policies/engine", "policies/eval", "policies/source",
	"webhooks", "webhooks/registration",
}

// timed are the packages whose verdicts depend on the time that a policy takes.
var timed = []string{}

// starting are the packages whose tests start programs that are built from this
// repository, or that read its files: Go's cache of results does not see those.
var starting = []string{}

// ofSuites are the packages that are suites of their own.
var ofSuites = []string{"test/e2e", "test/quickstart"}

func plainPackages(all []string) []string {
	return without(all, slices.Concat(raced, timed, starting, ofSuites))
}

func racePackages(all []string) []string     { return among(all, raced) }
func timingPackages(all []string) []string   { return among(all, timed) }
func startingPackages(all []string) []string { return among(all, starting) }

func among(all, chosen []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pkg string) bool { return !isOneOf(pkg, chosen) })
}

func without(all, left []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pkg string) bool { return isOneOf(pkg, left) })
}

func isOneOf(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return pkg == modulePath+"/"+folder })
}
