package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/lintel-policy/lintel/cmd/internal/version"
)

// Place is a line of a file. Line counts from 1, and 0 stands for the whole file. File is empty
// if the subject is not in a file.
type Place struct {
	File string
	Line int
}

// Finding is a finding for a tool that shows findings next to lines of files.
type Finding struct {
	// Rule identifies what found it, and Title says what that is about, where it is known.
	Rule, Title string
	// Exit is Denied for a denial, Allowed for a warning, and Error for an object that could not
	// be evaluated.
	Exit    Exit
	Message string
	// Object is the name of the object, and At its location.
	Object string
	At     Place
	// Policy is where the rule stands.
	Policy Place
	// Suppression explains why the finding does not count: empty if it does.
	Suppression string
}

// levels are SARIF's words for the exits of findings: how it ended, and how bad it is.
var levels = map[Exit][2]string{
	Denied:  {"fail", "error"},
	Allowed: {"fail", "warning"},
	Error:   {"open", "none"},
}

// WriteSARIF writes findings as a log of SARIF 2.1.0. Files are relative to the folder that the
// program runs in, unless their paths were absolute.
func WriteSARIF(w io.Writer, findings []Finding) error {
	run := sarif.NewRunWithInformationURI("lintel", "https://github.com/lintel-policy/lintel")
	run.Tool.Driver.WithFullName(version.Of("lintel"))
	run.Results = []*sarif.Result{} // no findings, as opposed to no run
	for _, f := range findings {
		rule := run.AddRule(f.Rule)
		if f.Title != "" {
			rule.WithDescription(f.Title)
		}
		result := run.CreateResultForRule(f.Rule).
			WithKind(levels[f.Exit][0]).WithLevel(levels[f.Exit][1]).
			WithMessage(sarif.NewTextMessage(f.Message)).
			AddLocation(location(f.At).AddLogicalLocation(sarif.NewLogicalLocation().WithFullyQualifiedName(f.Object)))
		if f.Suppression != "" {
			result.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(f.Suppression))
		}
		if f.Policy.File != "" {
			result.AddRelatedLocation(location(f.Policy).WithMessage(sarif.NewTextMessage(f.Rule)).WithID(1))
		}
	}
	var text bytes.Buffer
	err := sarif.NewReport().AddRun(run).PrettyWrite(&text)
	if err == nil && slices.ContainsFunc(findings, func(f Finding) bool { return f.Suppression != "" }) {
		err = completeSuppressions(&text)
	}
	if err == nil {
		_, err = text.WriteTo(w)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// completeSuppressions gives an empty array to the results that no suppression is about. SARIF
// 2.1.0 (3.27.23) demands suppressions of all results of a run or of none, and the library omits
// empty arrays.
func completeSuppressions(text *bytes.Buffer) error {
	var log map[string]any
	decoder := json.NewDecoder(text)
	decoder.UseNumber()
	if err := decoder.Decode(&log); err != nil {
		return err
	}
	runs, _ := log["runs"].([]any)
	for _, run := range runs {
		content, _ := run.(map[string]any)
		results, _ := content["results"].([]any)
		for _, one := range results {
			if result, ok := one.(map[string]any); ok && result["suppressions"] == nil {
				result["suppressions"] = []any{}
			}
		}
	}
	completed, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return err
	}
	text.Reset()
	text.Write(completed)
	return nil
}

func location(at Place) *sarif.Location {
	if at.File == "" {
		return sarif.NewLocation()
	}
	file := url.URL{Path: filepath.ToSlash(at.File)}
	if filepath.IsAbs(at.File) {
		file.Scheme = "file"
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI(file.String()))
	if at.Line > 0 {
		physical.WithRegion(sarif.NewRegion().WithStartLine(at.Line))
	}
	return sarif.NewLocation().WithPhysicalLocation(physical)
}
