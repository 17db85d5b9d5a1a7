package e2e

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// system is one of Lintel's systems, with what its tests need.
type system struct {
	// name is that of --systems, and empty for the core, which is not a system.
	name string
	// prefix is what the names of its tests begin with.
	prefix string
	// start grants the manager the system's permissions and starts the system's peers, which
	// keep their files in a folder.
	start func(ctx context.Context, folder string) (stop func() error, err error)
	// args are further flags of the manager, once the peers run.
	args func() []string
	// env are further variables of the manager's environment.
	env func() []string
}

// core has the tests of no system.
var core = system{prefix: "Test", start: startCore, args: coreArgs, env: coreEnv}

var allSystems = []system{
	{name: "openclaw", prefix: "TestOpenClaw", start: startOpenClaw, args: openClawArgs},
	{name: "openvox", prefix: "TestOpenVox", start: startOpenVox, args: openVoxArgs, env: openVoxEnv},
	{name: "openzro", prefix: "TestOpenZro", start: startOpenZro, args: openZroArgs},
	{name: "orloj", prefix: "TestOrloj", start: startOrloj, args: orlojArgs},
	{name: "zopp", prefix: "TestZopp", start: startZopp, args: zoppArgs},
}

// sources are the files of these tests, for their names.
//
//go:embed *_test.go
var sources embed.FS

// selectedSystems are the systems, the core among them, that the tests chosen by the
// flags -test.run and -test.skip belong to: none where no test was chosen.
func selectedSystems() ([]system, error) {
	value := func(name string) string { return flag.Lookup("test." + name).Value.String() }
	if value("list") != "" {
		return nil, nil
	}
	names, err := testNames()
	if err != nil {
		return nil, err
	}
	return systemsOf(names, value("run"), value("skip"))
}

// testNames are the names of the tests of this package.
func testNames() (names []string, err error) {
	files, err := sources.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	for _, file := range files {
		text, err := sources.ReadFile(file.Name())
		if err != nil {
			return nil, fmt.Errorf("listing the tests: %w", err)
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names, nil
}

var declaration = regexp.MustCompile(`(?m)^func (Test\w*)\(t \*testing\.T\)`)

// systemsOf returns the systems of the named tests that the patterns select. Of a pattern for
// subtests, only the part before the slash counts; with alternatives, it selects every test.
// A -test.skip pattern for subtests skips no test.
func systemsOf(names []string, run, skip string) (systems []system, err error) {
	if strings.Contains(run, "/") {
		if run, _, _ = strings.Cut(run, "/"); strings.Contains(run, "|") {
			run = ""
		}
	}
	if strings.Contains(skip, "/") {
		skip = ""
	}
	runs, err := regexp.Compile(run)
	if err != nil {
		return nil, fmt.Errorf("-test.run: %w", err)
	}
	skips, err := regexp.Compile(skip)
	if err != nil {
		return nil, fmt.Errorf("-test.skip: %w", err)
	}
	for _, s := range append([]system{core}, allSystems...) {
		if slices.ContainsFunc(names, func(name string) bool {
			return systemOfTest(name) == s.name && runs.MatchString(name) && (skip == "" || !skips.MatchString(name))
		}) {
			systems = append(systems, s)
		}
	}
	return systems, nil
}

// systemOfTest is the name of the system that a test belongs to: empty for the core.
func systemOfTest(test string) string {
	for _, s := range allSystems {
		if strings.HasPrefix(test, s.prefix) {
			return s.name
		}
	}
	return core.name
}

// TestSelection: a run starts what its tests need, and nothing else.
func TestSelection(t *testing.T) {
	t.Parallel()
	names, err := testNames()
	require.NoError(t, err)
	require.Contains(t, names, "TestSelection")
	for _, c := range []struct {
		run, skip string
		want      []string
	}{
		{"", "", []string{"", "openclaw", "openvox", "openzro", "orloj", "zopp"}},
		{"", "^Test(OpenClaw|OpenVox|OpenZro|Orloj|Zopp)", []string{""}},
		{"^TestOpenVox", "", []string{"openvox"}},
		{"TestOrlojMapping|TestZoppSamples", "", []string{"orloj", "zopp"}},
		{"^TestOrlojMapping$/sub", "", []string{"orloj"}},
		{"^TestZopp", "TestZopp.*/sub", []string{"zopp"}},
		{"^$", "", nil},
	} {
		systems, err := systemsOf(names, c.run, c.skip)
		require.NoError(t, err)
		var got []string
		for _, s := range systems {
			got = append(got, s.name)
		}
		require.Equal(t, c.want, got, "-run %q -skip %q", c.run, c.skip)
	}
}
