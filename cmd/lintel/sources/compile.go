package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/schema"
	"github.com/lintel-policy/lintel/policies/source/schema/offline"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// timeout bounds the compilation of a source, and all its tests together.
const timeout = 10 * time.Minute

// thisProgram is the path of what a Compiler and a Tester start.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program, to compile and test in processes of their own: %w", err)
	}
	return program, nil
}

// CompileWithinLimits compiles a source that a cluster has taken, as the manager does,
// first in a process of its own: what a cluster would refuse for taking too much must not
// hold this command either.
func CompileWithinLimits(candidate definition.Source) (*engine.PolicySet, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	return source.NewCompiler(program, timeout).Compile(context.Background(), candidate)
}

// NewCompiler compiles sources that are not in a cluster yet: the compiler also refuses
// references to fields that no kind of Kubernetes, of Lintel or of the definitions has.
// unchecked is called with the reason if these cannot be checked.
func NewCompiler(definitions []*schema.Definition, unchecked func(message string)) (*source.CachingCompiler, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	compiler := source.NewCompiler(program, timeout)
	compiler.Schemas = offline.NewKinds(definitions...)
	compiler.Unchecked = func(_ string, why error) { unchecked(fmt.Sprintf("references are not checked: %v", why)) }
	return compiler, nil
}

// NewTester runs the tests of a source in a process of their own.
func NewTester() (*source.Tester, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	return source.NewTester(program, timeout), nil
}

// CompileAll compiles the sources, and gives all that is wrong with them.
func CompileAll(sources []Source) ([]*engine.PolicySet, error) {
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

// compile compiles the source as the gate does, so that no report is based on a policy that a
// cluster refuses. The source must decide something: a check against nothing would always pass.
func (s *Source) compile() (*engine.PolicySet, error) {
	definitions, _, err := Definitions(s.Files)
	if err != nil {
		return nil, err
	}
	compiler, err := NewCompiler(definitions, func(message string) { s.unchecked = message })
	if err != nil {
		return nil, err
	}
	set, err := compiler.Compile(context.Background(), s.Source)
	if _, ok := errors.AsType[definition.CompileErrorList](err); ok {
		return nil, fmt.Errorf("%w\n%s: a cluster would refuse these policies, so no object is evaluated", s.CompileError(err), s.Origin)
	}
	if err != nil {
		return nil, s.CompileError(err)
	}
	if set.Policies() == 0 {
		return nil, s.Without("policies", "no package has a rule deny, warn, patch or defaults, and there is no constraint", source.Mistakes(set, admission.BuiltinResources()))
	}
	return set, nil
}

// Notes report conflicts for which a cluster with just these sources would refuse them,
// although they can be evaluated here, and likely mistakes. The sets are those of the sources.
func Notes(sources []Source, sets []*engine.PolicySet, snapshot *engine.Snapshot) []string {
	var out []string
	for i, set := range sets {
		for _, warning := range sources[i].InFolder(set.Warnings()) {
			out = append(out, warning.Error())
		}
		if sources[i].unchecked != "" {
			out = append(out, sources[i].unchecked)
		}
		others := slices.Concat(sets[:i], sets[i+1:])
		for _, violation := range scope.Check(set, nil, others, snapshot.Resources()) {
			out = append(out, fmt.Sprintf("a cluster would refuse %s: %v", sources[i].Origin, violation))
		}
		for _, mistake := range sources[i].InFolder(source.Mistakes(set, snapshot.Resources())) {
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

// Without is the error of a source without the requested thing, with the errors of the things
// that it has instead.
func (s Source) Without(what, why string, instead definition.CompileErrorList) error {
	errs := []error{fmt.Errorf("%s has no %s: %s", s.Origin, what, why)}
	for _, one := range s.InFolder(instead) {
		errs = append(errs, one)
	}
	return errors.Join(errs...)
}

// CompileError names the files as the user can open them.
func (s Source) CompileError(err error) error {
	reasons, ok := errors.AsType[definition.CompileErrorList](err)
	if !ok {
		return fmt.Errorf("%s does not compile: %w", s.Origin, err)
	}
	if s.Folder != "" {
		return definition.CompileErrorList(s.InFolder(reasons))
	}
	reasons = slices.Clone(reasons)
	for i := range reasons {
		reasons[i].Message += fmt.Sprintf(" (in %s)", s.Origin)
	}
	return reasons
}

// InFolder names the files of errors as the user can open them.
func (s Source) InFolder(errs definition.CompileErrorList) []definition.CompileError {
	out := slices.Clone([]definition.CompileError(errs))
	for i := range out {
		if out[i].File != "" {
			out[i].File = filepath.Join(s.Folder, filepath.FromSlash(out[i].File))
		}
	}
	return out
}
