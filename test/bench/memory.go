package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	residentLimit = 80 << 20
	// manyPolicies may cost at most manyLimit more than none.
	manyPolicies = 500
	manyLimit    = 60 << 20
	// residentSettle is how long the manager is left alone: Go gives memory back in
	// the background, at about one percent of a CPU.
	residentSettle = 12 * time.Second
)

// measureMemory reads the resident memory of an idle manager, before it has any policies, with
// the samples, and with many.
func (b *bench) measureMemory(ctx context.Context) error {
	say("measuring idle memory …")
	none, err := b.residentIdle(ctx, "no policies")
	if err != nil {
		return err
	}
	if err := b.applySamples(ctx); err != nil {
		return err
	}
	if _, err := b.residentIdle(ctx, "ten policies"); err != nil {
		return err
	}
	if err := b.deleteSources(ctx, samplesSource); err != nil {
		return err
	}
	return b.measureManyPolicies(ctx, none)
}

// measureManyPolicies compares with the memory that the manager took without any.
func (b *bench) measureManyPolicies(ctx context.Context, none int64) error {
	sources := manySources()
	for name, files := range sources {
		if err := b.cluster.ApplySource(ctx, name, files, nil); err != nil {
			return err
		}
	}
	many, err := residentAfter(ctx, b.managerPID)
	if err != nil {
		return err
	}
	b.row(row{
		What: fmt.Sprintf("resident memory, idle, %d policies over none", manyPolicies), Lintel: mebibytes(many - none),
		Target: "< 60 MiB", Verdict: verdict(float64(many-none), manyLimit),
	})
	return b.deleteSources(ctx, slices.Collect(maps.Keys(sources))...)
}

// manySources hold manyPolicies, each with a deny rule and what helps it, as many as
// one source may hold.
func manySources() map[string]map[string]string {
	const each = 250
	sources := map[string]map[string]string{}
	for n := range manyPolicies {
		name := fmt.Sprintf("many-%d", n/each)
		if sources[name] == nil {
			sources[name] = map[string]string{}
		}
		sources[name][fmt.Sprintf("p%d.rego", n)] = strings.ReplaceAll(onePolicy, "NUMBER", strconv.Itoa(n))
	}
	return sources
}

const onePolicy = `# METADATA
# title: Containers come from registry NUMBER
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     namespaces: ["none-NUMBER"]
#     expand: warn
package many.pNUMBER

import rego.v1

# METADATA
# title: Images are from an allowed registry
deny contains violation if {
	some field, list in containers
	some i, container in list
	not allowed(container.image)
	violation := {
		"msg": sprintf("image %q of container %q is not from registry NUMBER", [container.image, container.name]),
		"field": sprintf("spec.%s[%d].image", [field, i]),
	}
}

allowed(image) if startswith(image, "registry-NUMBER.example.com/")

allowed(image) if input.parameters.images[_] == image

containers[field] := list if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	list := input.request.object.spec[field]
}
`

func (b *bench) residentIdle(ctx context.Context, policies string) (int64, error) {
	bytes, err := residentAfter(ctx, b.managerPID)
	if err != nil {
		return 0, err
	}
	b.row(row{
		What: "resident memory, idle, " + policies, Lintel: mebibytes(bytes),
		Target: "< 80 MiB", Verdict: verdict(float64(bytes), residentLimit),
	})
	return bytes, nil
}

// residentAfter is the memory of a process that was left alone for a while.
func residentAfter(ctx context.Context, pid int) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(residentSettle):
	}
	return residentOf(pid)
}

// residentAfterLoad is for information.
func (b *bench) residentAfterLoad() error {
	lintel, err := residentOf(b.managerPID)
	if err != nil {
		return err
	}
	echo, err := residentOf(b.echo.pid)
	if err != nil {
		return err
	}
	b.row(ratioRow("resident memory right after the direct calls, ten policies", mebibytes(lintel), mebibytes(echo), float64(lintel), float64(echo), 0))
	return nil
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
