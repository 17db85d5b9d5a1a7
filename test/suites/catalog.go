package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// tier says when a suite runs.
type tier int

const (
	// everyRun is for what each change needs.
	everyRun tier = iota
	// byInput is for suites that run when their inputs have changed, and in rotation.
	byInput
	// onlyLong is for suites of the long run.
	onlyLong
)

// suite is a set of tests that is run, recorded and reported as one.
type suite struct {
	name, covers string
	tier         tier
	// inputs are the files whose change makes the suite run, as patterns: a folder with a
	// trailing slash, a file, or a path.Match pattern of the base name with a leading */.
	// A pattern with a leading ! excludes; the last match decides. Without inputs, each
	// file is one.
	inputs []string
	// tools are commands whose version matters, apart from Go.
	tools []string
	// needs are builds that must be done before a time limit of a test runs.
	needs []string
	steps []step
	// alone is set for suites that use all processors by themselves.
	alone bool
	// usual is the duration on two cores, for machines that have not run the suite yet.
	usual time.Duration
}

// step is one call of go test, or of a test program.
type step struct {
	// module is the folder of the Go module, relative to the checkout; empty for the main one.
	module   string
	packages []string
	// listed names packages by a function, where a pattern cannot.
	listed    func(main []string) []string
	run, skip string
	race      bool
	// fresh is for tests whose inputs Go's cache does not see: programs that they build or
	// start, and files that those read.
	fresh bool
	// linked is for one package that several suites run parts of: it is linked once.
	linked bool
	// servers is for tests that start servers and wait for them: up to a few that fail get
	// a second attempt.
	servers bool
	fuzz    string
	timeout time.Duration
	env     []string
}

// selection is a text of which tests the suite runs, and how.
func (s suite) selection() string {
	var parts []string
	for _, st := range s.steps {
		parts = append(parts, fmt.Sprintf("%q %q %t %q %q %t %q %q", st.module, st.packages, st.listed != nil, st.run, st.skip, st.race, st.fuzz, st.env))
	}
	return strings.Join(parts, "\n")
}

// Builds that suites need.
const (
	needCluster  = "control plane"
	needNodes    = "programs of real nodes"
	needPrograms = "Lintel's programs"
)

// systems are the names of the systems as folders have them.
var systems = []string{"openclaw", "openvox", "openzro", "orloj", "zopp"}

// Parts of the end-to-end tests that are not systems: Gatekeeper's templates and constraints,
// and replicas that start, stop, lead and fail.
const (
	gatekeeper   = "gatekeeper"
	availability = "availability"
)

// product are the files that Lintel is built from and installed with.
var product = []string{
	"go.mod", "go.sum", "api/", "cmd/", "policies/", "webhooks/", "controllers/", "config/",
	"!config/release/", "!config/chart/", "!config/library/", "!config/monitoring/", "!*/*.md", "!*/*_test.go", "!*/*_test.rego",
}

// control are the folders that start the cluster of tests. Its exclusions also apply to entries
// before it in a list.
var control = []string{"test/cluster/", "test/installation/", "!*/*_test.go", "!*/*.md"}

// Tools that are identified by files, and not by a command on PATH.
const (
	postgres = "/usr/lib/postgresql/*/bin/postgres"
	puppet   = "/usr/share/java/puppet*.jar"
)

// productOf are the files of the product that one system depends on: all but those of the
// other systems, whose packages it never imports.
func productOf(system string) []string {
	files := slices.Clone(product)
	for _, other := range systems {
		if other == system {
			continue
		}
		for _, folder := range []string{"api/", "controllers/", "policies/rules/", "config/crd/", "config/rbac/", "config/samples/"} {
			files = append(files, "!"+folder+other+"/")
		}
	}
	if system != "openvox" {
		for _, program := range []string{"autosign", "ca-setup", "enc", "report"} {
			files = append(files, "!cmd/openvox-"+program+"/")
		}
	}
	return files
}

// endToEnd is the suite of one system in test/e2e. The files of that folder start with
// their system's name; the other files serve all of them.
func endToEnd(system, prefix string, peers []string, tools ...string) suite {
	files := append(slices.Concat(productOf(system), control), "test/e2e/")
	for _, other := range append([]string{gatekeeper}, systems...) {
		if other != system {
			files = append(files, "!*/"+other+"_*.go")
		}
	}
	return suite{
		name: "e2e-" + system, covers: "behavior for users of " + system + ", on a real API server",
		tier: byInput, inputs: append(files, peers...), tools: tools,
		needs: []string{needCluster, needPrograms},
		steps: []step{{packages: []string{"./test/e2e"}, run: "^Test" + prefix, linked: true, fresh: true, servers: true, timeout: 30 * time.Minute}},
		usual: 3 * time.Minute,
	}
}

var catalog = []suite{
	{
		name: "unit", covers: "unit and property tests of the main module", tier: everyRun,
		steps: []step{{listed: unitPackages, skip: withAnAPIServer, timeout: 20 * time.Minute}},
		usual: 5 * time.Minute,
	},
	{
		name: "race", covers: "packages that run goroutines, with the race detector", tier: everyRun,
		steps: []step{{listed: racePackages, skip: withAnAPIServer, race: true, timeout: 30 * time.Minute}},
		usual: 5 * time.Minute,
	},
	{
		name: "e2e-core", covers: "behavior for users of policies, on a real API server", tier: everyRun,
		needs: []string{needCluster, needPrograms},
		steps: []step{{
			packages: []string{"./test/e2e"}, skip: "^Test(Gatekeeper|Replicas$|TheManagerIsAway$|OpenClaw|OpenVox|OpenZro|Orloj|Zopp)",
			linked: true, fresh: true, servers: true, timeout: 30 * time.Minute,
		}},
		usual: 3 * time.Minute,
	},
	endToEnd(gatekeeper, "Gatekeeper", nil),
	endToEnd(availability, "(Replicas|TheManagerIsAway)$", []string{"test/gitserver/"}, "git"),
	endToEnd("openclaw", "OpenClaw", []string{"test/opa/", "test/opaserver/", "docs/openclaw/tutorial.md"}),
	endToEnd("openvox", "OpenVox", []string{"test/puppetca/", "test/artifact/", "test/certificates/"}, "puppetserver", puppet, "java"),
	endToEnd("openzro", "OpenZro", []string{"test/openzro/"}),
	endToEnd("orloj", "Orloj", []string{"test/orlojd/", "docs/orloj/tutorial.md"}, postgres),
	endToEnd("zopp", "Zopp", []string{"test/zopp/"}),
	{
		name: "webhooks", covers: "webhooks and the controllers of zopp, in the process of the test, with a real API server", tier: byInput,
		inputs: slices.Concat(product, []string{"!cmd/", "!controllers/"}, control, []string{
			"controllers/attempt/", "controllers/object/", "controllers/system/", "controllers/tracing/", "controllers/zopp/",
			"webhooks/", "test/certificates/", "test/properties/", "test/reviews/", "test/zopp/", "!*/*.md",
		}),
		needs: []string{needCluster},
		steps: []step{{packages: []string{"./webhooks", "./controllers/zopp"}, run: withAnAPIServer, fresh: true, servers: true, timeout: 20 * time.Minute}},
		usual: time.Minute,
	},
	{
		name: "puppetca", covers: "what a real Puppet CA signs by openvox-autosign", tier: byInput,
		inputs: slices.Concat(product, []string{
			"!controllers/", "!webhooks/", "!config/", "!cmd/", "cmd/openvox-autosign/", "test/puppetca/", "test/artifact/",
		}),
		tools: []string{"puppetserver", puppet, "java"}, needs: []string{needPrograms},
		steps: []step{{packages: []string{"./test/puppetca"}, fresh: true, servers: true, timeout: 20 * time.Minute}},
		usual: time.Minute,
	},
	{
		name: "apiserver", covers: "what the API server's own code makes of CRDs and registrations", tier: byInput,
		inputs: slices.Concat(product, []string{"!cmd/", "config/library/", "test/apiserver/"}),
		steps:  []step{{module: "test/apiserver", packages: []string{"./..."}, fresh: true, timeout: 20 * time.Minute}},
		usual:  30 * time.Second,
	},
	{
		name: "gator", covers: "Gatekeeper's templates, compared with gator", tier: byInput,
		inputs: slices.Concat(product, []string{"!controllers/", "!config/", "!api/", "!cmd/manager/", "test/gator/"}),
		steps:  []step{{module: "test/gator", packages: []string{"./..."}, fresh: true, timeout: 20 * time.Minute}},
		usual:  2 * time.Minute,
	},
	{
		name: "stores", covers: "stores of records against servers of object stores", tier: byInput,
		inputs: slices.Concat(product, []string{"!controllers/", "!config/", "!api/", "!cmd/", "!webhooks/", "test/stores/"}),
		steps:  []step{{module: "test/stores", packages: []string{"./..."}, fresh: true, timeout: 5 * time.Minute}},
		usual:  30 * time.Second,
	},
	{
		name: "kyverno", covers: "policies converted from Kyverno, compared with the kyverno command", tier: byInput,
		inputs: []string{"policies/kyverno/", "cmd/lintel/convert/", "policies/eval/", "test/kyverno/"},
		steps:  []step{{module: "test/kyverno", packages: []string{"./..."}, fresh: true, timeout: 20 * time.Minute}},
		usual:  2 * time.Minute,
	},
	{
		name: "bench", covers: "the tables of the benchmarks", tier: byInput,
		inputs: slices.Concat(product, []string{"!cmd/", "test/gitserver/", "test/installation/", "docs/benchmarks/", "test/bench/"}),
		steps:  []step{{module: "test/bench", packages: []string{"./..."}, fresh: true, timeout: 20 * time.Minute}},
		usual:  time.Minute,
	},
	{
		name: "cluster", covers: "the test cluster itself", tier: byInput,
		inputs: []string{"test/cluster/", "!*/*.md"}, tools: []string{"runc", "nft"},
		needs: []string{needCluster, needNodes},
		steps: []step{{module: "test/cluster", packages: []string{"./..."}, fresh: true, servers: true, timeout: 20 * time.Minute}},
		usual: 3 * time.Minute,
	},
	{
		name: "quickstart", covers: "what make run starts and stops", tier: byInput,
		inputs: slices.Concat(product, control, []string{"test/quickstart/"}),
		needs:  []string{needCluster},
		steps:  []step{{packages: []string{"./test/quickstart"}, fresh: true, servers: true, timeout: 20 * time.Minute}},
		usual:  30 * time.Second,
	},
	{
		name: "release", covers: "the program that builds images, archives and charts", tier: byInput,
		inputs: []string{"config/release/", "config/library/", ".github/actions/", "config/openvox-image/", "cmd/internal/version/", "!*/*.md"},
		tools:  []string{"mmdebstrap"},
		steps:  []step{{module: "config/release", packages: []string{"./..."}, fresh: true, timeout: 30 * time.Minute}},
		usual:  3 * time.Minute,
	},
	{
		name: "chart", covers: "both charts, rendered by Helm and applied to an API server", tier: byInput,
		inputs: slices.Concat(product, control, []string{
			"config/", "test/artifact/", "test/reviews/", ".tools/", "docs/how-to/install-with-argo-cd-or-flux.md",
			"docs/orloj/manage-with-argo-cd-or-flux.md", "!*/*_test.go",
			"test/chart/", "!test/chart/installed_test.go", "!test/chart/openvox_*.go",
		}),
		needs: []string{needCluster, needPrograms},
		steps: []step{{module: "test/chart", packages: []string{"."}, skip: onNodes, linked: true, fresh: true, servers: true, timeout: 20 * time.Minute}},
		usual: 2 * time.Minute,
	},
	{
		name: "chart-installed", covers: "the chart on a real node: installed, upgraded, disturbed, removed", tier: byInput,
		inputs: []string{
			"go.mod", "go.sum", "config/", "cmd/manager/", "cmd/lintel/replay/", "policies/replay/", "policies/record/", "webhooks/", "controllers/system/", "controllers/policy/", "controllers/openclaw/",
			"test/artifact/", "test/cluster/", "!*/*_test.go", "!*/*.md", "!config/samples/", "!config/chart/openvox-stack/",
			"test/chart/", "!test/chart/openvox_*.go", "!test/chart/stack_test.go", "docs/how-to/break-glass.md",
		},
		tools: []string{"runc", "nft", previousRelease},
		needs: []string{needCluster, needNodes, needPrograms},
		steps: []step{{module: "test/chart", packages: []string{"."}, run: "^TestInstalled$", linked: true, fresh: true, servers: true, timeout: 40 * time.Minute}},
		usual: 6 * time.Minute,
	},
	{
		name: "chart-openvox", covers: "OpenVox on a real node: servers, agents, a Database, the stack's chart", tier: byInput,
		inputs: []string{
			"go.mod", "go.sum", "api/openvox/", "cmd/lintel/openvox/", "cmd/manager/", "cmd/openvox-autosign/", "cmd/openvox-ca-setup/", "cmd/openvox-enc/", "cmd/openvox-report/",
			"controllers/openvox/", "controllers/object/", "policies/rules/openvox/", "config/chart/", "config/release/",
			"config/openvox-image/", "config/crd/openvox/", "config/rbac/openvox/", "test/artifact/", "test/cluster/", "test/puppetca/",
			"!*/*_test.go", "!*/*_test.rego", "!*/*.md", "test/chart/", "!test/chart/installed_test.go", "!test/chart/stack_test.go",
		},
		tools: []string{"runc", "nft", "mmdebstrap"},
		needs: []string{needCluster, needNodes, needPrograms},
		steps: []step{{module: "test/chart", packages: []string{"."}, run: openVoxOnNodes, linked: true, fresh: true, servers: true, timeout: 60 * time.Minute}},
		usual: 12 * time.Minute,
	},
	{
		name: "properties", covers: "long properties of scopes and of the restrict-only analysis", tier: onlyLong, alone: true,
		steps: []step{{
			packages: []string{"./policies/...", "./cmd/lintel/...", "./webhooks/..."}, fresh: true,
			timeout: 120 * time.Minute, env: []string{"LINTEL_LONG=1"},
		}},
		usual: 30 * time.Minute,
	},
	{
		name: "fuzz", covers: "each fuzz target for a minute", tier: onlyLong, alone: true,
		steps: []step{{fuzz: "60s", timeout: 120 * time.Minute}},
		usual: 20 * time.Minute,
	},
}

// openVoxOnNodes are the tests of OpenVox whose servers are Pods, and onNodes all tests
// of the charts that start a real node.
const (
	openVoxOnNodes = "^TestOpenVox"
	onNodes        = "^Test(Installed$|OpenVox)"
)

// withAnAPIServer are tests of packages that start a control plane.
const withAnAPIServer = "^TestAgainstAnAPIServer$"

func suiteNames() []string {
	var names []string
	for _, s := range catalog {
		names = append(names, s.name)
	}
	return names
}
