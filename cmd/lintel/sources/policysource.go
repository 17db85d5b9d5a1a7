package sources

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/source"
)

// readPolicySources reads the PolicySources of a file. The file may also contain
// PolicyExceptions, which ReadExceptions reads.
func readPolicySources(file string) ([]Source, error) {
	objects, err := manifests.ReadPath(file)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s has no policies: it holds no PolicySource", file)
	}
	var sources []Source
	for _, o := range objects {
		if isPolicyException(o) {
			continue
		}
		s, err := OfObject(o)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// OfObject is the source that a PolicySource holds inline.
func OfObject(o manifests.Object) (Source, error) {
	if !isPolicySource(o) {
		remedy := "give manifests to check with -f"
		if strings.HasSuffix(o.Kind.Group, ".gatekeeper.sh") {
			remedy = "give the folder of templates and constraints, or a file with both and without PolicySources"
		}
		return Source{}, fmt.Errorf("%s is of kind %s, not PolicySource: %s", o.Origin, o.Kind.Kind, remedy)
	}
	if o.Kind.Version != v1alpha1.SchemeGroupVersion.Version {
		return Source{}, fmt.Errorf("%s: version %s of PolicySource is not known: use %s", o.Origin, o.Kind.Version, v1alpha1.SchemeGroupVersion)
	}
	read, err := decode(o)
	if err != nil {
		return Source{}, err
	}
	if err := check(&read); err != nil {
		return Source{}, fmt.Errorf("%s: PolicySource %q: %w", o.Origin, o.Name, err)
	}
	return Source{
		Source: source.FromPolicySource(&read, read.Spec.Inline.Files, ""),
		Origin: fmt.Sprintf("PolicySource %q at %s", o.Name, o.Origin),
		file:   o.File, line: o.Line,
	}, nil
}

// PolicySourcesAt are the PolicySources of a file or folder, which may hold other objects,
// too.
func PolicySourcesAt(path string) ([]v1alpha1.PolicySource, error) {
	objects, err := manifests.ReadPath(path)
	if err != nil {
		return nil, err
	}
	var found []v1alpha1.PolicySource
	for _, o := range slices.DeleteFunc(objects, func(o manifests.Object) bool { return !isPolicySource(o) }) {
		read, err := decode(o)
		if err != nil {
			return nil, err
		}
		found = append(found, read)
	}
	return found, nil
}

func isPolicySource(o manifests.Object) bool {
	return o.Kind.Kind == "PolicySource" && o.Kind.Group == v1alpha1.GroupName
}

// decode refuses unknown fields, which the API server would drop.
func decode(o manifests.Object) (read v1alpha1.PolicySource, err error) {
	text, err := o.JSON()
	if err != nil {
		return read, err
	}
	strict, err := kjson.UnmarshalStrict(text, &read)
	if err = errors.Join(append(strict, err)...); err != nil {
		return read, fmt.Errorf("%s: reading the PolicySource: %w", o.Origin, err)
	}
	return read, nil
}

// check finds fields that the API server would refuse or that would change the decision, and
// origins that need a network.
func check(s *v1alpha1.PolicySource) error {
	var origins []string
	for _, origin := range []struct {
		name  string
		given bool
	}{{"inline", s.Spec.Inline != nil}, {"git", s.Spec.Git != nil}, {"oci", s.Spec.OCI != nil}} {
		if origin.given {
			origins = append(origins, origin.name)
		}
	}
	level := hierarchy.Level(s.Spec.Scope.Level)
	switch {
	case s.Name == "":
		return errors.New("metadata.name is missing")
	case len(origins) != 1:
		return errors.New("spec needs exactly one of inline, git and oci")
	case s.Spec.Inline == nil:
		return fmt.Errorf("its origin is %s, and only inline can be read offline: check a clone of it with -p <folder>", origins[0])
	case !slices.Contains([]v1alpha1.FailurePolicy{"", v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore}, s.Spec.FailurePolicy):
		return fmt.Errorf("spec.failurePolicy is %q, not Fail or Ignore", s.Spec.FailurePolicy)
	case level != "" && !slices.Contains(hierarchy.AllLevels, level):
		return fmt.Errorf("spec.scope.level is %q, not one of %v", level, hierarchy.AllLevels)
	}
	return nil
}
