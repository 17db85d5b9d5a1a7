package review

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/request"
)

// requestFlags describe the request apart from its object.
type requestFlags struct {
	// operation is empty if the other flags decide.
	operation string
	user, uid string
	groups    []string
	old       string
	// onlyOld reports that --old is in place of -f: a deletion has no other object.
	onlyOld     bool
	subresource string
	dryRun      bool
	options     string // as it was typed

	optionsJSON json.RawMessage
}

// namesOfRequestFlags are the flags that contradict the request of an AdmissionReview.
var namesOfRequestFlags = []string{"operation", "as", "as-uid", "as-group", "old", "subresource", "dry-run", "request-options"}

func (f *requestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.operation, "operation", "", "`operation` on the objects: "+strings.Join(request.Operations, ", ")+"; CREATE if not given, UPDATE with --old, or the one of the subresource")
	flags.StringVar(&f.user, "as", "", "`name` of the user who makes the request, such as system:serviceaccount:shop:deployer")
	flags.StringArrayVar(&f.groups, "as-group", nil, "`name` of a group of the user; may be repeated")
	flags.StringVar(&f.uid, "as-uid", "", "`uid` of the user")
	flags.StringVar(&f.old, "old", "", "`path` of a file or folder with the objects before the update or, without -f, those that --operation DELETE removes; or - for standard input")
	flags.StringVar(&f.subresource, "subresource", "", "`name` of the subresource of the request, such as exec, status or deployments.apps/scale")
	flags.BoolVar(&f.dryRun, "dry-run", false, "the request is a dry run")
	flags.StringVar(&f.options, "request-options", "", "`options` of the request: a file, or JSON such as {\"fieldManager\": \"kubectl\"}")
	usage.CompleteFlag(cmd, "operation", request.Operations...)
	usage.CompleteFlag(cmd, "as")
	usage.CompleteFlag(cmd, "as-group")
	usage.CompleteFlag(cmd, "as-uid")
	usage.CompleteFiles(cmd, "old", "yaml", "yml", "json")
	usage.CompleteFlag(cmd, "subresource", request.Subresources()...)
	usage.CompleteFiles(cmd, "request-options", "yaml", "yml", "json")
}

// complete checks the flags.
func (f *requestFlags) complete(cmd *cobra.Command, stdinIsTaken bool) error {
	changed := cmd.Flags().Changed
	for _, name := range []string{"as", "as-uid", "old", "subresource", "request-options"} {
		if changed(name) && cmd.Flags().Lookup(name).Value.String() == "" {
			return usage.Errorf(cmd, "--%s is empty: leave it out", name)
		}
	}
	switch {
	case changed("operation") && !slices.Contains(request.Operations, f.operation):
		return usage.Errorf(cmd, "--operation %s is not one of %s", f.operation, strings.Join(request.Operations, ", "))
	case f.operation == "CONNECT" && f.subresource == "":
		return usage.Errorf(cmd, "--operation CONNECT is about a subresource: give --subresource exec, attach, portforward or proxy, too")
	case f.user == "" && (f.uid != "" || len(f.groups) > 0):
		return usage.Errorf(cmd, "--as-group and --as-uid are about a user: give --as, too")
	case slices.Contains(f.groups, ""):
		return usage.Errorf(cmd, "--as-group is empty: leave it out")
	case f.hasOld() && f.deletes():
		return usage.Errorf(cmd, "--operation %s removes one object: give it with -f or with --old, not with both", f.operation)
	case f.hasOld() && f.operation != "" && f.operation != "UPDATE":
		return usage.Errorf(cmd, "--old is about an update or a deletion: leave out --operation %s", f.operation)
	case f.hasOld() && f.old == "-" && stdinIsTaken:
		return usage.Errorf(cmd, "-f - and --old -: standard input can be read only once")
	}
	return f.readOptions(cmd)
}

// hasOld reports whether there are objects before an update.
func (f *requestFlags) hasOld() bool { return f.old != "" && !f.onlyOld }

// deletes reports whether the request has only an old object.
func (f *requestFlags) deletes() bool {
	return f.operation == "DELETE" || f.operation == request.DeleteCollection
}

// readOptions reads --request-options: JSON or a file.
func (f *requestFlags) readOptions(cmd *cobra.Command) error {
	if f.options == "" {
		return nil
	}
	text := []byte(f.options)
	if !strings.HasPrefix(strings.TrimSpace(f.options), "{") {
		var err error
		if text, err = os.ReadFile(f.options); err != nil {
			return fmt.Errorf("--request-options: %w", err)
		}
	}
	var err error
	if f.optionsJSON, err = yaml.YAMLToJSONStrict(text); err != nil {
		return usage.Errorf(cmd, "--request-options: %v", err)
	}
	return nil
}

// givenRequestFlags are the flags of the request that the command line has.
func givenRequestFlags(cmd *cobra.Command) (names []string) {
	for _, name := range namesOfRequestFlags {
		if cmd.Flags().Changed(name) {
			names = append(names, "--"+name)
		}
	}
	return names
}

// questionAbout returns the request that the flags describe for an object.
func (c *checker) questionAbout(o manifests.Object) (request.Question, error) {
	flags := c.options.request
	own, _ := c.resources.Lookup(o.Kind)
	q, err := request.Spec{
		Operation: flags.operation, User: flags.user, UID: flags.uid, Groups: flags.groups, HasOld: flags.hasOld(),
		Subresource: flags.subresource, DryRun: flags.dryRun, Options: flags.optionsJSON,
	}.About(o.Kind, own, c.resources.Resources)
	if err != nil {
		return q, fmt.Errorf("%s: %w", o.Origin, err)
	}
	return q, nil
}
