package kyverno

import "fmt"

// Note is a part of a converted policy that the Rego does not contain, or does differently.
type Note struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Field is the path in the policy.
	Field string `json:"field"`
	// Instead is its replacement in Lintel.
	Instead string `json:"instead"`
}

func (n Note) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", n.File, n.Line, n.Field, n.Instead)
}

// settingsInstead are the replacements of settings that the Rego of a policy does not contain.
var settingsInstead = map[string]string{
	"failurePolicy":                  "set spec.failurePolicy of the PolicySource, for all of its policies",
	"background":                     "audit evaluates existing objects, and reports the rules that depend on the request as not auditable",
	"webhookTimeoutSeconds":          "set timeout in METADATA, which limits the work for a request; the timeout of the webhook is a setting of the installation",
	"webhookConfiguration":           "set spec.failurePolicy of the PolicySource, and timeout in METADATA",
	"schemaValidation":               "nothing; Lintel checks policies against the fields of their kinds, and mutated objects are validated by the API server",
	"generateExisting":               "nothing; Lintel creates no objects",
	"generateExistingOnPolicyUpdate": "nothing; Lintel creates no objects",
	"mutateExistingOnPolicyUpdate":   "nothing; the next write of an object changes it",
	"useServerSideApply":             "nothing; Lintel creates no objects",
}

// ruleInstead are the same for the settings of a rule.
var ruleInstead = map[string]string{
	"skipBackgroundRequests": "nothing; requests of Kyverno's controllers are evaluated like others",
	"reportProperties":       "nothing; add keys of your own under custom in METADATA",
}

// notesOn are the notes on a policy.
func notesOn(file string, root field) (out []Note) {
	add := func(f field, instead string) { out = append(out, Note{file, f.line(), f.path, instead}) }
	spec := root.get("spec")
	for _, e := range spec.entries() {
		if instead, ok := settingsInstead[e.key]; ok {
			add(e.value, instead)
		}
	}
	for _, f := range spec.get("rules").items() {
		for _, e := range f.entries() {
			if instead, ok := ruleInstead[e.key]; ok {
				add(e.value, instead)
			}
		}
		for _, item := range f.get("context").items() {
			for _, key := range []string{"apiCall", "configMap"} {
				if item.get(key).exists() {
					add(item.get(key), "the Rego reads data.cluster, in the version that the cluster prefers; an administrator permits the kinds under requires")
				}
			}
		}
	}
	return out
}
