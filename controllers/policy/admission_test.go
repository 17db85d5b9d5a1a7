package policy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	gates "github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/suite"
)

// Without scopes, a clash of packages is reported without mentioning scopes.
func TestAClashOfPackagesIsNamedAsOne(t *testing.T) {
	live := engine.NewLive(admission.BuiltinResources())
	source := definition.Source{Name: "one", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}}
	set, err := policyset.Compile(source)
	require.NoError(t, err)
	live.Put(set)
	gate := gates.Gate{Compile: func(_ context.Context, candidate definition.Source) (*engine.PolicySet, error) {
		return policyset.Compile(candidate)
	}}
	source.Name = "two"
	verdict, err := gate.Judge(t.Context(), source, live)
	require.NoError(t, err)
	answer := answerTo(&v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "two"}}, verdict)
	require.Len(t, answer.Denials, 1)
	require.Contains(t, answer.Denials[0], "PolicySource two has a package that another source has, too:\np.rego:1: source one has a policy p, too")
}

// The API server is not kept waiting for tests: what takes longer is left to the gate.
func TestLongTestsAreLeftToTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := func(ctx context.Context, _ definition.Source) (suite.Results, error) {
			<-ctx.Done()
			return suite.Results{}, ctx.Err()
		}
		_, err := boundedTest(forever)(t.Context(), definition.Source{})
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = boundedTest(forever)(ended, definition.Source{})
		require.ErrorIs(t, err, context.Canceled, "who asked is gone")
		failed := func(context.Context, definition.Source) (suite.Results, error) {
			return suite.Results{}, errors.New("no process")
		}
		_, err = boundedTest(failed)(t.Context(), definition.Source{})
		require.ErrorContains(t, err, "no process")
	})
}
