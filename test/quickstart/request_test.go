package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequest(t *testing.T) {
	for variables, want := range map[string]request{
		"":                   {},
		"ONCE=1":             {once: true},
		"COMPONENTS=all":     {everything: true},
		"NODES=kwok":         {},
		"NODES=real":         {pods: true, everything: true},
		"SYSTEMS=openclaw":   {openclaw: true, everything: true},
		"CLUSTER=current":    {current: true},
		"GATEKEEPER=1":       {gatekeeper: true},
		"FLAGS=--gatekeeper": {flags: []string{"--gatekeeper"}},
		"COMPONENTS= ONCE=0": {},
	} {
		got, err := readRequest(environment(variables))
		require.NoError(t, err, variables)
		require.Equal(t, want, got, variables)
	}
	for variables, want := range map[string]string{
		"CLUSTER=kind":                   `CLUSTER is "kind": use current`,
		"COMPONENTS=some":                `COMPONENTS is "some": use all`,
		"NODES=metal":                    `NODES is "metal": use kwok or real`,
		"SYSTEMS=zopp":                   `SYSTEMS is "zopp": use openclaw`,
		"CLUSTER=current NODES=real":     "leave COMPONENTS, NODES, SYSTEMS and GATEKEEPER empty",
		"CLUSTER=current COMPONENTS=all": "leave COMPONENTS, NODES, SYSTEMS and GATEKEEPER empty",
		"CLUSTER=current GATEKEEPER=1":   "leave COMPONENTS, NODES, SYSTEMS and GATEKEEPER empty",
		"GATEKEEPER=yes":                 `GATEKEEPER is "yes": use 1`,
		"FLAGS=allow-file-origins":       `FLAGS has "allow-file-origins": write flags of the manager as --name=value or --name`,
	} {
		_, err := readRequest(environment(variables))
		require.ErrorContains(t, err, want, variables)
	}
}

func environment(variables string) func(string) string {
	return func(name string) string {
		for variable := range strings.FieldsSeq(variables) {
			if key, value, _ := strings.Cut(variable, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestFarewell(t *testing.T) {
	require.Contains(t, request{once: true}.farewell(), "the cluster has been stopped, as ONCE=1 asks")
	require.Contains(t, request{once: true, current: true}.farewell(), "Lintel has been removed from the cluster again")
	require.Contains(t, request{}.farewell(), "there is no terminal", "tests have none")
}

func TestTheTranscriptNeedsFewComponents(t *testing.T) {
	require.Contains(t, request{}.clusterFlags(), "--without=kube-controller-manager,kube-scheduler,kwok")
	require.Contains(t, request{}.note(), "COMPONENTS=all")
	require.NotContains(t, strings.Join(request{everything: true}.clusterFlags(), " "), "--without")
	require.Empty(t, request{everything: true}.note())
}

func TestConfirmation(t *testing.T) {
	for answer, agreed := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false} {
		var question bytes.Buffer
		err := confirm(t.Context(), strings.NewReader(answer), &question)
		require.Equal(t, agreed, err == nil, "%q", answer)
		require.Contains(t, question.String(), "Continue? [y/N]")
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	silence, _ := io.Pipe()
	require.ErrorIs(t, confirm(interrupted, silence, io.Discard), context.Canceled)

	var text bytes.Buffer
	announceInstallation(&text, "dev", "https://127.0.0.1:6443")
	require.Contains(t, text.String(), `Context "dev", server https://127.0.0.1:6443`)
	require.Contains(t, text.String(), "kubectl delete --ignore-not-found -k config/local\n")
}

func TestFlagsAreValuesOfTheChart(t *testing.T) {
	require.Equal(t, "flags.allow-file-origins=true", flagValue("--allow-file-origins"))
	require.Equal(t, `flags.excluded-namespaces=a\,b`, flagValue("--excluded-namespaces=a,b"))
}
