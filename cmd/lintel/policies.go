package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// policySource is a source with the place it was read from.
type policySource struct {
	definition.Source
	origin string
	// folder is where the files of the source are; empty where they are in an
	// object.
	folder string
	// unchecked says why the references were not checked; empty where they were.
	unchecked string
}

// readPolicies reads the sources at the paths. Names, where there are any, are those of
// the paths, each a folder or a file.
func readPolicies(paths, names []string) ([]policySource, error) {
	if len(names) > 0 && len(names) != len(paths) {
		return nil, fmt.Errorf("--name is given %d times, and -p %d times: give a name for each, in their order, or none", len(names), len(paths))
	}
	var sources []policySource
	for i, path := range paths {
		found, err := readPolicyPath(path)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			if err := found[0].rename(names[i]); err != nil {
				return nil, err
			}
		}
		sources = append(sources, found...)
	}
	origins := map[string]string{}
	for _, s := range sources {
		if other, ok := origins[s.Name]; ok {
			return nil, fmt.Errorf("%s and %s are both named %q, and a message could not tell them apart: give each a name with --name, once for each -p and in their order", other, s.origin, s.Name)
		}
		origins[s.Name] = s.origin
	}
	return sources, nil
}

// rename gives the source of a folder or a file the name that its PolicySource will have.
func (s *policySource) rename(name string) error {
	if s.folder == "" {
		return fmt.Errorf("--name names the source of a folder or .rego file: %s has a name of its own", s.origin)
	}
	s.Name = name
	return checkName(name)
}

// compileAll compiles the sources, and gives all that is wrong with them.
func compileAll(sources []policySource) ([]*engine.PolicySet, error) {
	var sets []*engine.PolicySet
	var errs []error
	for i := range sources {
		set, err := sources[i].compile()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sets = append(sets, set)
	}
	return sets, errors.Join(errs...)
}

// notesOn say what a cluster with just these sources would refuse, though they can be
// asked here, and what is likely not meant.
func notesOn(sources []policySource, sets []*engine.PolicySet, snapshot *engine.Snapshot) []string {
	var out []string
	for i, set := range sets {
		out = append(out, set.Warnings()...)
		if sources[i].unchecked != "" {
			out = append(out, sources[i].unchecked)
		}
		others := slices.Concat(sets[:i], sets[i+1:])
		for _, violation := range scope.Check(set, others, snapshot.Resources()) {
			out = append(out, fmt.Sprintf("a cluster would refuse %s: %v", sources[i].origin, violation))
		}
		for _, mistake := range sources[i].inFolder(source.Mistakes(set, snapshot.Resources())) {
			out = append(out, mistake.Error())
		}
	}
	if _, _, err := registration.Configurations(snapshot.Policies(), snapshot.Resources(), nil, registration.Settings{}); err != nil {
		for line := range strings.Lines(err.Error()) {
			out = append(out, "a cluster would refuse these policies together: "+strings.TrimSpace(line))
		}
	}
	return out
}

// compile compiles the source as the gate does, so that nobody is told of an object what
// a policy says that no cluster takes. It must decide something: a check against nothing
// would always pass.
func (s *policySource) compile() (*engine.PolicySet, error) {
	definitions, _, err := readDefinitions(s.Files)
	if err != nil {
		return nil, err
	}
	compiler, err := gateCompiler(definitions, func(message string) { s.unchecked = message })
	if err != nil {
		return nil, err
	}
	set, err := compiler.Compile(context.Background(), s.Source)
	if _, ok := errors.AsType[definition.CompileErrors](err); ok {
		return nil, fmt.Errorf("%w\n%s: a cluster would refuse these policies, so no object is judged by them", s.compileError(err), s.origin)
	}
	if err != nil {
		return nil, s.compileError(err)
	}
	if set.Policies() == 0 {
		return nil, s.without("policies", "no package has a rule deny, warn, patch or defaults, and there is no constraint", source.Mistakes(set, admission.BuiltinResources()))
	}
	return set, nil
}

// without says why a source has none of what is asked for, with what it has in its place.
func (s policySource) without(what, why string, instead definition.CompileErrors) error {
	errs := []error{fmt.Errorf("%s has no %s: %s", s.origin, what, why)}
	for _, one := range s.inFolder(instead) {
		errs = append(errs, one)
	}
	return errors.Join(errs...)
}

// compileError names the files as the user can open them.
func (s policySource) compileError(err error) error {
	reasons, ok := errors.AsType[definition.CompileErrors](err)
	if !ok {
		return fmt.Errorf("%s does not compile: %w", s.origin, err)
	}
	reasons = slices.Clone(reasons)
	for i := range reasons {
		switch {
		case s.folder != "" && reasons[i].File != "":
			reasons[i].File = filepath.Join(s.folder, filepath.FromSlash(reasons[i].File))
		case s.folder == "":
			reasons[i].Message += fmt.Sprintf(" (in %s)", s.origin)
		}
	}
	return reasons
}

// readPolicyPath reads a folder, a Rego file, or a file of PolicySources.
func readPolicyPath(path string) ([]policySource, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	switch {
	case info.IsDir():
		return readPolicyFolder(path)
	case filepath.Ext(path) == ".rego":
		return readPolicyFile(path)
	case isManifest(path):
		return readPolicySources(path)
	default:
		return nil, fmt.Errorf("%s is not policy: -p takes a folder, a .rego file, or YAML with PolicySources", path)
	}
}

// readPolicyFolder is the folder as one source, named after it.
func readPolicyFolder(folder string) ([]policySource, error) {
	files, err := source.ReadFolder(folder, definition.IsPolicyFile, source.MaxArtifactBytes)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the folder %s: %w", folder, err)
	}
	read := policySource{
		Source: definition.Source{Name: filepath.Base(absolute), Files: files},
		origin: folder,
		folder: folder,
	}
	isPolicy := func(name string) bool {
		return path.Ext(name) == ".rego" || gatekeeper.IsPolicyFile(name, files[name])
	}
	if !slices.ContainsFunc(sortedNames(files), isPolicy) {
		return nil, read.without("policies", "there is no .rego file and no ConstraintTemplate in it; name a file of PolicySources itself", source.PassedOver(files))
	}
	return []policySource{read}, nil
}

// readPolicyFile is the file as one source, named after it.
func readPolicyFile(file string) ([]policySource, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	name := filepath.Base(file)
	return []policySource{{
		Source: definition.Source{
			Name:  strings.TrimSuffix(name, ".rego"),
			Files: map[string]string{name: string(text)},
		},
		origin: file,
		folder: filepath.Dir(file),
	}}, nil
}

// readPolicySources reads the PolicySources of a file.
func readPolicySources(file string) ([]policySource, error) {
	objects, err := readManifestPath(file)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s has no policies: it holds no PolicySource", file)
	}
	var sources []policySource
	for _, o := range objects {
		s, err := readPolicySource(o)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func readPolicySource(o object) (policySource, error) {
	if o.kind.Kind != "PolicySource" || o.kind.Group != v1alpha1.GroupName {
		remedy := "give manifests to check with -f"
		if strings.HasSuffix(o.kind.Group, ".gatekeeper.sh") {
			remedy = "give the folder of templates and constraints, not a file of it"
		}
		return policySource{}, fmt.Errorf("%s is of kind %s, not PolicySource: %s", o.origin, o.kind.Kind, remedy)
	}
	if o.kind.Version != v1alpha1.SchemeGroupVersion.Version {
		return policySource{}, fmt.Errorf("%s: version %s of PolicySource is not known: use %s", o.origin, o.kind.Version, v1alpha1.SchemeGroupVersion)
	}
	text, err := o.json()
	if err != nil {
		return policySource{}, err
	}
	read := &v1alpha1.PolicySource{}
	strict, err := kjson.UnmarshalStrict(text, read)
	if err = errors.Join(append(strict, err)...); err != nil {
		return policySource{}, fmt.Errorf("%s: reading the PolicySource: %w", o.origin, err)
	}
	if err := checkPolicySource(read); err != nil {
		return policySource{}, fmt.Errorf("%s: PolicySource %q: %w", o.origin, o.name, err)
	}
	return policySource{
		Source: source.FromPolicySource(read, read.Spec.Inline.Files, ""),
		origin: fmt.Sprintf("PolicySource %q at %s", o.name, o.origin),
	}, nil
}

// checkPolicySource finds what the API server would refuse and what would change
// the decision if it were let through, and origins that need a network.
func checkPolicySource(s *v1alpha1.PolicySource) error {
	origins := []string{}
	for name, set := range map[string]bool{
		"inline": s.Spec.Inline != nil, "git": s.Spec.Git != nil, "oci": s.Spec.OCI != nil,
	} {
		if set {
			origins = append(origins, name)
		}
	}
	switch {
	case s.Name == "":
		return errors.New("metadata.name is missing")
	case len(origins) != 1:
		return errors.New("spec needs exactly one of inline, git and oci")
	case s.Spec.Inline == nil:
		return fmt.Errorf("its origin is %s, and only inline can be read offline: check a clone of it with -p <folder>", origins[0])
	}
	switch s.Spec.FailurePolicy {
	case "", v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore:
	default:
		return fmt.Errorf("spec.failurePolicy is %q, not Fail or Ignore", s.Spec.FailurePolicy)
	}
	level := hierarchy.Level(s.Spec.Scope.Level)
	if level != "" && !slices.Contains(hierarchy.Levels, level) {
		return fmt.Errorf("spec.scope.level is %q, not one of %v", level, hierarchy.Levels)
	}
	return nil
}
