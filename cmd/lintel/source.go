package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
)

// sourceOptions are the flags of source.
type sourceOptions struct {
	name          string
	failurePolicy string
}

func newSourceCommand() *cobra.Command {
	var options sourceOptions
	cmd := &cobra.Command{
		Use:   "source <folder>",
		Short: "Write a folder of policies as a PolicySource",
		Long: `Write a folder of policies as a PolicySource with an inline origin, for kubectl
apply. The policies must compile.`,
		Example: `  # Enforce a folder of policies
  lintel source policies/ --name team | kubectl apply -f -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError(cmd, "give one folder of policies")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := policySourceYAML(args[0], options)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&options.name, "name", "", "name of the PolicySource; the folder's if empty")
	cmd.Flags().StringVar(&options.failurePolicy, "failure-policy", string(engine.Fail), "what an error of a policy does to a request: Fail or Ignore")
	return cmd
}

// policySourceYAML is the PolicySource in YAML, without the fields that only the API
// server fills in.
func policySourceYAML(folder string, options sourceOptions) ([]byte, error) {
	if !slices.Contains([]engine.FailurePolicy{engine.Fail, engine.Ignore}, engine.FailurePolicy(options.failurePolicy)) {
		return nil, fmt.Errorf("--failure-policy %q is neither Fail nor Ignore", options.failurePolicy)
	}
	sources, err := readPolicyFolder(folder)
	if err != nil {
		return nil, err
	}
	if _, err := sources[0].compile(); err != nil {
		return nil, err
	}
	object := &v1alpha1.PolicySource{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "PolicySource"},
		ObjectMeta: metav1.ObjectMeta{Name: options.name},
		Spec: v1alpha1.PolicySourceSpec{
			Inline:        &v1alpha1.InlineOrigin{Files: sources[0].Files},
			FailurePolicy: v1alpha1.FailurePolicy(options.failurePolicy),
		},
	}
	if object.Name == "" {
		object.Name = filepath.Base(sources[0].Name)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}
