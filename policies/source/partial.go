package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// maxReductions limits how often files are left out of a partial source and the rest is compiled
// again. Errors that hide others are of few kinds: of syntax, of types, of references, of tests.
const maxReductions = 8

// LeftOut is a file of a partial source whose text is not in force, with the reason.
type LeftOut struct {
	definition.CompileError
	// LastGood reports that the text of the last good revision stays in force.
	LastGood bool
}

// String is the error, and which text stays in force.
func (l LeftOut) String() string {
	if l.LastGood {
		return l.Error() + " (the text of the last good revision stays in force)"
	}
	return l.Error()
}

// evaluatePartially leaves out the files of a partial source that do not compile, and the files
// that depend on them, until the rest passes the gate. evaluate is the verdict on other files.
//
// Invariant: a file in lastGood, which is in force, is replaced by a text that compiles, keeps the
// text that is in force together with that of all files it depends on, or is deleted by the origin.
// If that is impossible, the whole revision is refused. So an error never loosens a policy.
func evaluatePartially(candidate definition.Source, lastGood map[string]string, evaluate func(definition.Source) (Verdict, error)) (Verdict, error) {
	verdict, err := evaluate(candidate)
	if err != nil || verdict.Set != nil || verdict.Reason != ReasonCompileFailed {
		return verdict, err
	}
	whole, r, wrongReferences := verdict, newReduction(candidate.Files, lastGood), false
	for range maxReductions {
		if reason := r.leaveOut(verdict.Errors); reason != "" {
			return refusedPartially(whole, verdict, reason), nil
		}
		wrongReferences = wrongReferences || verdict.wrongReferences
		reduced := candidate
		reduced.Files = r.remaining()
		verdict, err = evaluate(reduced)
		switch {
		case err != nil:
			return verdict, err
		case verdict.Set != nil:
			verdict.LeftOut, verdict.wrongReferences = r.list(), wrongReferences
			return verdict, nil
		case verdict.Reason == ReasonNoPolicies:
			return refusedPartially(whole, whole, "no policy is left without these files"), nil
		case verdict.Reason != ReasonCompileFailed:
			verdict.Message = fmt.Sprintf("without the files that do not compile (%s): %s", r.list()[0], verdict.Message)
			return verdict, nil
		}
	}
	return refusedPartially(whole, verdict, fmt.Sprintf("after %d attempts, the rest still has errors", maxReductions)), nil
}

// refusedPartially is the verdict on a partial source from which files cannot be left out. It lists
// the errors of the whole revision, and those of the last attempt.
func refusedPartially(whole, last Verdict, reason string) Verdict {
	for _, err := range last.Errors {
		if !slices.Contains(whole.Errors, err) {
			whole.Errors = append(slices.Clip(whole.Errors), err)
		}
	}
	reason = "spec.partial leaves out no files of this revision: " + reason
	whole.Errors = append(slices.Clip(whole.Errors), definition.CompileError{Message: reason})
	whole.Message += "; " + reason
	return whole
}

// CompilePartially compiles a source and, if it is partial, leaves out files like the gate of a
// cluster in which no revision is in force.
func CompilePartially(ctx context.Context, compile func(context.Context, definition.Source) (*engine.PolicySet, error), candidate definition.Source) (*engine.PolicySet, []LeftOut, error) {
	if !candidate.Partial {
		set, err := compile(ctx, candidate)
		return set, nil, err
	}
	verdict, err := evaluatePartially(candidate, nil, func(candidate definition.Source) (Verdict, error) {
		set, err := compile(ctx, candidate)
		if err != nil {
			return notCompiled(err)
		}
		return Verdict{Set: set}, nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case verdict.Set == nil && len(verdict.Errors) > 0:
		return nil, nil, verdict.Errors
	case verdict.Set == nil:
		return nil, nil, errors.New(verdict.Message)
	}
	return verdict.Set, verdict.LeftOut, nil
}

// reduction is a revision of a partial source without some of its files.
type reduction struct {
	files, lastGood map[string]string
	uses, usedBy    dependencies // of files, and of lastGood
	out             map[string]LeftOut
}

func newReduction(files, lastGood map[string]string) *reduction {
	return &reduction{files: files, lastGood: lastGood, usedBy: dependenciesOf(files), uses: dependenciesOf(lastGood), out: map[string]LeftOut{}}
}

// remaining are the files of the next attempt.
func (r *reduction) remaining() map[string]string {
	files := maps.Clone(r.files)
	for name, one := range r.out {
		if one.LastGood {
			files[name] = r.lastGood[name]
		} else {
			delete(files, name)
		}
	}
	return files
}

func (r *reduction) list() []LeftOut {
	return slices.SortedFunc(maps.Values(r.out), func(a, b LeftOut) int { return a.Compare(b.CompileError) })
}

// isUnchanged reports whether a file is in force with the text that it has in the revision.
func (r *reduction) isUnchanged(name string) bool {
	text, inForce := r.lastGood[name]
	return inForce && text == r.files[name]
}

// leaveOut leaves out the files with errors and all that depends on them. It returns why that is
// impossible: "" if it is possible.
func (r *reduction) leaveOut(errs definition.CompileErrorList) (reason string) {
	var queue []string
	if len(errs) == 0 {
		return "no error names a file"
	}
	for _, err := range errs {
		_, isFile := r.files[err.File]
		_, isOut := r.out[err.File]
		switch {
		case !isFile:
			return fmt.Sprintf("an error is not about one of its files: %v", err)
		case r.isUnchanged(err.File):
			continue // another file causes it, or none does
		case isOut && r.out[err.File].LastGood:
			return fmt.Sprintf("%s does not compile in the text of the last good revision, which is in force, together with the other files: %v", err.File, err)
		case isOut:
			continue
		case definition.Classify(err.File) == definition.FileTest:
			return fmt.Sprintf("%s contains tests of the files that are left", err.File)
		}
		if why := settingsIn(err.File, r.files[err.File]); why != "" {
			return why
		}
		r.mark(err)
		queue = append(queue, err.File)
	}
	if len(queue) == 0 {
		return fmt.Sprintf("%s is in force, has not changed, and does not compile together with the other files", errs[0].File)
	}
	return r.close(queue)
}

// mark leaves out the file of an error.
func (r *reduction) mark(err definition.CompileError) {
	_, inForce := r.lastGood[err.File]
	r.out[err.File] = LeftOut{err, inForce}
}

// close leaves out all files that depend on those in the queue, and restores the files that those
// which stay in force depend on.
func (r *reduction) close(queue []string) (reason string) {
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if r.out[name].LastGood {
			for _, used := range r.uses.filesUsedBy(name) {
				_, isOut := r.out[used]
				if _, isFile := r.files[used]; !isFile {
					return fmt.Sprintf("%s stays in force in the text of the last good revision, and depends on %s, which this revision deletes", name, used)
				}
				if isOut || r.isUnchanged(used) {
					continue
				}
				r.mark(definition.CompileError{File: used, Message: fmt.Sprintf("%s stays in force in the text of the last good revision, and depends on it", name)})
				queue = append(queue, used)
			}
		}
		for _, user := range r.usedBy.usersOf(name) {
			if _, isOut := r.out[user]; isOut || r.isUnchanged(user) {
				continue
			}
			if why := settingsIn(user, r.files[user]); why != "" {
				return why
			}
			r.mark(definition.CompileError{File: user, Message: fmt.Sprintf("depends on %s, which is left out", name)})
			queue = append(queue, user)
		}
	}
	return ""
}
