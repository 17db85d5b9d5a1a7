package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/rules"
)

func TestProduct(t *testing.T) {
	verdict, failure := &rules.Answer{}, error(nil)
	evaluate := func(context.Context, *admission.Review) (*rules.Answer, error) { return verdict, failure }
	f := newFixture(t, nil, func(o *HandlerOptions) {
		o.Products = []rules.Product{{Name: "policysource", Entry: "policysource.policy.lintel.dev", Validate: evaluate}, {Name: "defaults", Entry: "d.example.com", FailurePolicy: definition.Ignore, Mutate: evaluate}}
	})
	assert.True(t, f.ask(t, "/validate/policysource", podRequest).Allowed, "without any snapshot")

	verdict = &rules.Answer{Denials: []string{"team.rego:3:1: var x is unsafe"}, Warnings: []string{strings.Repeat("w", 1000)}}
	response := f.ask(t, "/validate/policysource", podRequest)
	assert.False(t, response.Allowed)
	assert.Equal(t, "team.rego:3:1: var x is unsafe", response.Result.Message)
	assert.Len(t, response.Warnings[0], engine.MaxWarningBytes)

	verdict = &rules.Answer{Patch: []jsonpatch.Operation{{Op: "remove", Path: "/x"}}}
	assert.NotEmpty(t, f.ask(t, "/mutate/defaults", podRequest).Patch)
	assert.False(t, f.ask(t, "/validate/policysource", podRequest).Allowed, "a validating product cannot patch")

	failure = errors.New("store is down")
	assert.True(t, f.ask(t, "/mutate/defaults", podRequest).Allowed, "its failure policy is Ignore")
	assert.Equal(t, http.StatusNotFound, f.post("/mutate/policysource", podRequest).Code)

	failure = fmt.Errorf("%w: reading takes too long; retry", admission.ErrBusy)
	response = f.ask(t, "/mutate/defaults", podRequest)
	assert.False(t, response.Allowed, "a flood does not open what its failure policy would")
	assert.EqualValues(t, http.StatusTooManyRequests, response.Result.Code)
	assert.Equal(t, "too many requests: reading takes too long; retry", response.Result.Message)
}

// TestSlowProducts: the reviews of one namespace leave room for those of others.
func TestSlowProducts(t *testing.T) {
	f := newFixture(t, nil, func(o *HandlerOptions) {
		o.Products = []rules.Product{{Name: "slow", Entry: "slow.example.com", Slow: true, Validate: accept}}
	})
	f.slowEntries = newReviewLimiter(2)
	_, err := f.slowEntries.enter(t.Context(), "namespace shop")
	assert.NoError(t, err)
	review := strings.Replace(podRequest, `"namespace":"shop"`, `"namespace":"other"`, 1)
	assert.NotEqual(t, podRequest, review)
	assert.True(t, f.ask(t, "/validate/slow?timeout=1s", review).Allowed)
	assert.False(t, f.ask(t, "/validate/slow?timeout=50ms", podRequest).Allowed)
}

func TestProductsThatCannotBeServed(t *testing.T) {
	for _, product := range []rules.Product{
		{Name: "a", Entry: "a.example.com"},
		{Name: "a", Entry: "a.example.com", Validate: accept, Mutate: accept},
		{Name: "a/b", Entry: "a.example.com", Validate: accept},
		{Name: "", Entry: "a.example.com", Validate: accept},
		{Name: "fail", Entry: "a.example.com", Validate: accept},
	} {
		_, err := NewHandler(HandlerOptions{Products: []rules.Product{product}})
		assert.ErrorContains(t, err, "product a.example.com")
	}
}
