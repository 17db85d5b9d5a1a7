package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const optionsVersion = "meta.k8s.io/v1"

// allowedOptionsKinds are the kinds of options that requests of an operation have, the default first.
// A patch and server-side apply have PatchOptions, also if they create the object.
var allowedOptionsKinds = map[string][]string{
	"CREATE": {"CreateOptions", "PatchOptions"},
	"UPDATE": {"UpdateOptions", "PatchOptions"},
	"DELETE": {"DeleteOptions"},
}

// Options are the options of a request of an operation in JSON, from the given ones. apiVersion and
// kind may be missing there, and given may be empty. dryRun reports whether the request is a dry run.
func Options(given json.RawMessage, operation string, dryRun bool) (options json.RawMessage, isDryRun bool, err error) {
	kinds := allowedOptionsKinds[operation]
	switch {
	case len(kinds) == 0 && len(given) > 0:
		return nil, false, fmt.Errorf("a request with operation %s has no options", operation)
	case len(kinds) == 0:
		return nil, dryRun, nil
	}
	fields := map[string]any{}
	if len(given) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(given))
		decoder.UseNumber()
		if err := decoder.Decode(&fields); err != nil || fields == nil {
			return nil, false, errors.New("must be an object, such as {\"fieldManager\": \"kubectl\"}")
		}
	}
	kind, err := optionsKind(fields, operation)
	if err != nil {
		return nil, false, err
	}
	if dryRun {
		fields["dryRun"] = []string{metav1.DryRunAll}
	}
	fields["apiVersion"], fields["kind"] = optionsVersion, kind
	if options, err = json.Marshal(fields); err != nil {
		return nil, false, err
	}
	values, err := checkOptions(options, kind)
	if err != nil {
		return nil, false, err
	}
	if len(values) > 0 && !slices.Equal(values, []string{metav1.DryRunAll}) {
		return nil, false, fmt.Errorf("dryRun: Invalid value %q: must be [%q]", values, metav1.DryRunAll)
	}
	return options, len(values) > 0, nil
}

func optionsKind(fields map[string]any, operation string) (string, error) {
	kinds := allowedOptionsKinds[operation]
	if version, given := fields["apiVersion"]; given && version != optionsVersion {
		return "", fmt.Errorf("apiVersion: Invalid value %q: must be %s", fmt.Sprint(version), optionsVersion)
	}
	given, isGiven := fields["kind"]
	if !isGiven {
		return kinds[0], nil
	}
	kind, _ := given.(string)
	if !slices.Contains(kinds, kind) {
		return "", fmt.Errorf("kind: Invalid value %q: a request with operation %s has %s", fmt.Sprint(given), operation, strings.Join(kinds, " or "))
	}
	return kind, nil
}

// checkOptions returns the dryRun of options, which have all fields that they may have.
func checkOptions(options []byte, kind string) (dryRun []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(options))
	decoder.DisallowUnknownFields()
	switch kind {
	case "CreateOptions":
		var typed metav1.CreateOptions
		err = decoder.Decode(&typed)
		dryRun = typed.DryRun
	case "UpdateOptions":
		var typed metav1.UpdateOptions
		err = decoder.Decode(&typed)
		dryRun = typed.DryRun
	case "PatchOptions":
		var typed metav1.PatchOptions
		err = decoder.Decode(&typed)
		dryRun = typed.DryRun
	default:
		var typed metav1.DeleteOptions
		err = decoder.Decode(&typed)
		dryRun = typed.DryRun
	}
	if err == nil {
		return dryRun, nil
	}
	text := kind + ": " + strings.TrimPrefix(err.Error(), "json: ")
	if kind == "CreateOptions" || kind == "UpdateOptions" {
		text += "; the options of a patch or of server-side apply have kind: PatchOptions"
	}
	return nil, errors.New(text)
}
