package sources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
)

// minReason is the least number of characters of spec.reason: see PolicyException in the API.
const minReason = 10

// Exception is a PolicyException with the location that it was read from.
type Exception struct {
	*exception.Exception
	// Origin is the file and the line.
	Origin string
}

// ReadExceptions reads the PolicyExceptions in the files of manifests among the paths. It leaves
// out folders: those are sources, which contain no PolicyExceptions.
func ReadExceptions(paths []string) (found []Exception, err error) {
	return ExceptionsAt(slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.IsDir() || filepath.Ext(path) == ".rego" || !manifests.IsManifest(path)
	})...)
}

// ExceptionsAt reads the PolicyExceptions of files and folders, which may contain other objects.
func ExceptionsAt(paths ...string) (found []Exception, err error) {
	origins := map[string]string{}
	for _, path := range paths {
		objects, err := manifests.ReadPath(path)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if !isPolicyException(o) {
				continue
			}
			one, err := exceptionOf(o)
			if err != nil {
				return nil, err
			}
			if other, ok := origins[one.Name]; ok {
				return nil, fmt.Errorf("%s and %s are both PolicyException %q", other, o.Origin, one.Name)
			}
			origins[one.Name] = o.Origin
			found = append(found, Exception{one, o.Origin})
		}
	}
	return found, nil
}

func isPolicyException(o manifests.Object) bool {
	return o.Kind.Kind == "PolicyException" && o.Kind.Group == v1alpha1.GroupName
}

// exceptionOf reads a PolicyException. It refuses what the API server would refuse or drop.
func exceptionOf(o manifests.Object) (*exception.Exception, error) {
	if o.Kind.Version != v1alpha1.SchemeGroupVersion.Version {
		return nil, fmt.Errorf("%s: version %s of PolicyException is not known: use %s", o.Origin, o.Kind.Version, v1alpha1.SchemeGroupVersion)
	}
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	var read v1alpha1.PolicyException
	strict, err := kjson.UnmarshalStrict(text, &read)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("%s: reading the PolicyException: %w", o.Origin, err)
	}
	one, err := checkException(&read)
	if err != nil {
		return nil, fmt.Errorf("%s: PolicyException %q: %w", o.Origin, read.Name, err)
	}
	return one, nil
}

func checkException(read *v1alpha1.PolicyException) (*exception.Exception, error) {
	for _, field := range []struct{ name, value string }{
		{"metadata.name", read.Name}, {"spec.source", read.Spec.Source}, {"spec.policy", read.Spec.Policy},
	} {
		if field.value == "" {
			return nil, fmt.Errorf("%s: Required value", field.name)
		}
	}
	known := []v1alpha1.ExceptionRule{"", v1alpha1.ExceptionRuleDeny, v1alpha1.ExceptionRuleWarn, v1alpha1.ExceptionRuleViolation}
	switch {
	case read.Spec.ExpiresAt.IsZero():
		return nil, errors.New("spec.expiresAt: Required value: such as 2026-12-04T17:00:00Z")
	case utf8.RuneCountInString(strings.TrimSpace(read.Spec.Reason)) < minReason:
		return nil, fmt.Errorf("spec.reason: Invalid value %q: must explain the exception in at least %d characters", read.Spec.Reason, minReason)
	case !slices.Contains(known, read.Spec.Rule):
		return nil, fmt.Errorf("spec.rule: Unsupported value %q: must be deny, warn or violation", read.Spec.Rule)
	}
	return source.FromPolicyException(read)
}

// ExceptionNotes say which exceptions a cluster would refuse at a time, or that have no effect.
func ExceptionNotes(exceptions []Exception, sets []*engine.PolicySet, snapshot *engine.Snapshot, now time.Time) (notes []string) {
	for _, one := range exceptions {
		for _, problem := range ExceptionProblems(one, sets, snapshot, now) {
			notes = append(notes, fmt.Sprintf("PolicyException %s at %s: %s", one.Name, one.Origin, problem))
		}
	}
	return notes
}

// ExceptionProblems are why a cluster would refuse an exception at a time, or why it has no effect.
func ExceptionProblems(one Exception, sets []*engine.PolicySet, snapshot *engine.Snapshot, now time.Time) (problems []string) {
	if one.Expired(now) {
		problems = append(problems, fmt.Sprintf("spec.expiresAt: it expired at %s", one.Expires.UTC().Format(time.RFC3339)))
	}
	for _, problem := range scope.CheckException(snapshot, one.Exception, now) {
		problems = append(problems, problem.Message)
	}
	if i := slices.IndexFunc(sets, func(set *engine.PolicySet) bool { return set.Name() == one.Source }); i >= 0 && len(problems) == 0 {
		if warning := scope.WarnException(sets[i], one.Exception); warning != "" {
			problems = append(problems, warning)
		}
	}
	return problems
}
