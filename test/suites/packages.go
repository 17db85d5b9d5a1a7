package main

import "slices"

const modulePath = "github.com/lintel-policy/lintel"

// raced are the packages whose tests run goroutines of the package side by side. In the
// others the race detector would only cost time.
var raced = []string{
	"cmd/openvox-report",
	"controllers/attempt", "controllers/openclaw", "controllers/openvox/authority", "controllers/openvox/issuing",
	"controllers/openzro", "controllers/openzro/management", "controllers/orloj", "controllers/orloj/store",
	"controllers/policy", "controllers/zopp", "controllers/zopp/store",
	"policies/clusterdata", "policies/engine", "policies/eval", "policies/source",
	"webhooks",
}

// ofSuites are the packages that are suites of their own.
var ofSuites = []string{"test/e2e", "test/puppetca", "test/quickstart"}

func unitPackages(all []string) []string { return without(all, ofSuites) }
func racePackages(all []string) []string { return among(all, raced) }

func among(all, chosen []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pkg string) bool { return !isOneOf(pkg, chosen) })
}

func without(all, left []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pkg string) bool { return isOneOf(pkg, left) })
}

func isOneOf(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return pkg == modulePath+"/"+folder })
}
