package zopp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

func newRules(t *testing.T) *engine.Snapshot {
	t.Helper()
	snapshot, err := New()
	require.NoError(t, err)
	return snapshot
}

func namespaceWith(t *testing.T, annotations map[string]string) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "shop", "annotations": annotations}})
	require.NoError(t, err)
	return text
}

// decisionOn returns the decision of the rules about a new object.
func decisionOn(t *testing.T, snapshot *engine.Snapshot, q rules.Question) *engine.Decision {
	t.Helper()
	review, err := q.Review()
	require.NoError(t, err)
	facts, err := engine.ReadFacts(q.Facts)
	require.NoError(t, err)
	namespace, err := engine.ReadNamespace(q.Namespace)
	require.NoError(t, err)
	return snapshot.Validate(t.Context(), review, engine.Options{Facts: facts, Namespace: namespace})
}

func words(findings []engine.Finding) (all []string) {
	for _, finding := range findings {
		all = append(all, finding.Words)
	}
	return all
}

const sync, sources = v1alpha1.SyncAnnotation, v1alpha1.SourcesAnnotation

// TestAnnotationsOfSecrets checks every kind of invalid annotation.
func TestAnnotationsOfSecrets(t *testing.T) {
	snapshot := newRules(t)
	three := func(more ...string) map[string]string {
		annotations := map[string]string{
			sync: "true", v1alpha1.WorkspaceAnnotation: "acme", v1alpha1.ProjectAnnotation: "backend", v1alpha1.EnvironmentAnnotation: "production",
		}
		for i := 0; i < len(more); i += 2 {
			annotations[more[i]] = more[i+1]
		}
		return annotations
	}
	listed := func(text string) map[string]string { return map[string]string{sync: "true", sources: text} }
	const incomplete = ": it is missing; zopp.dev/workspace, zopp.dev/project and zopp.dev/environment name an environment of zopp together"
	for name, c := range map[string]struct {
		annotations map[string]string
		immutable   bool
		mapping     Mapping
		namespace   map[string]string
		denied      []string
		warned      []string
	}{
		"the product document's":    {annotations: three()},
		"several":                   {annotations: listed("acme/shared/production, acme/backend/production")},
		"filtered":                  {annotations: three("zopp.dev/keys", "DATABASE_URL, db.password=DB_PASSWORD, API_*")},
		"of zopp's command line":    {annotations: map[string]string{"zopp.dev/workspace": "a:b", "zopp.dev/synced-by": "jane"}, immutable: true, mapping: Restricted},
		"forgotten":                 {annotations: map[string]string{"zopp.dev/project": "a:b"}, immutable: true, mapping: Restricted, warned: []string{`metadata.annotations[zopp.dev/project]: it is set without zopp.dev/sync, and the Secret is not synced; add zopp.dev/sync: "true" to have it synced`}},
		"ended":                     {annotations: three(sync, "false", "zopp.dev/workspace", ""), mapping: Restricted},
		"true in capitals":          {annotations: three(sync, "TRUE", "zopp.dev/workspace", ""), warned: []string{`metadata.annotations[zopp.dev/sync]: it is "TRUE", and the Secret is not synced; write "true" to have it synced`}},
		"true, with a space":        {annotations: three(sync, "true "), warned: []string{`metadata.annotations[zopp.dev/sync]: it is "true ", and the Secret is not synced; write "true" to have it synced`}},
		"cleaned up in other words": {annotations: three("zopp.dev/cleanup", "1"), warned: []string{`metadata.annotations[zopp.dev/cleanup]: it is "1", and keys stay in the Secret when its sync ends; write "true" to have them taken out`}},
		"no source":                 {annotations: map[string]string{sync: "true"}, denied: []string{"metadata.annotations[zopp.dev/sync]: nothing says what the Secret is synced from; add zopp.dev/workspace, zopp.dev/project and zopp.dev/environment, or zopp.dev/sources"}},
		"one of three":              {annotations: map[string]string{sync: "true", "zopp.dev/project": "backend"}, mapping: Restricted, denied: []string{"metadata.annotations[zopp.dev/environment]" + incomplete, "metadata.annotations[zopp.dev/workspace]" + incomplete}},
		"one is empty":              {annotations: three("zopp.dev/environment", ""), denied: []string{"metadata.annotations[zopp.dev/environment]: it is empty; name the environment of zopp"}},
		"both forms":                {annotations: three(sources, "acme/shared/production"), denied: []string{"metadata.annotations[zopp.dev/sources]: zopp.dev/workspace names another source; give either zopp.dev/sources or the three annotations for one"}},
		"an empty list":             {annotations: listed(" ,"), denied: []string{"metadata.annotations[zopp.dev/sources]: it lists nothing; write workspace/project/environment, with commas between several"}},
		"two names":                 {annotations: listed("acme/backend"), denied: []string{`metadata.annotations[zopp.dev/sources]: "acme/backend" is not workspace/project/environment; a name with / or , needs zopp.dev/workspace, zopp.dev/project and zopp.dev/environment in place of this annotation`}},
		"four names":                {annotations: listed("acme/a/b/c"), denied: []string{`metadata.annotations[zopp.dev/sources]: "acme/a/b/c" is not workspace/project/environment; a name with / or , needs zopp.dev/workspace, zopp.dev/project and zopp.dev/environment in place of this annotation`}},
		"an empty name":             {annotations: listed("acme//production"), denied: []string{"metadata.annotations[zopp.dev/sources]: it is empty; name the project of zopp"}},
		"a colon":                   {annotations: three("zopp.dev/project", "backend:production"), denied: []string{`metadata.annotations[zopp.dev/project]: "backend:production" has a colon; zopp authenticates values by names with colons between them, so that this one may stand for another; rename the project in zopp`}},
		"a colon in a list":         {annotations: listed("a:b/c/d"), denied: []string{`metadata.annotations[zopp.dev/sources]: "a:b" has a colon; zopp authenticates values by names with colons between them, so that this one may stand for another; rename the workspace in zopp`}},
		"spaces":                    {annotations: three("zopp.dev/project", " backend"), denied: []string{`metadata.annotations[zopp.dev/project]: " backend" has spaces around it`}},
		"an empty filter":           {annotations: three("zopp.dev/keys", ""), denied: []string{"metadata.annotations[zopp.dev/keys]: it lists nothing, and no key would be synced; take the annotation out to have all of them"}},
		"a bad name":                {annotations: three("zopp.dev/keys", "db/password=DB_PASSWORD"), denied: []string{`metadata.annotations[zopp.dev/keys]: Kubernetes takes no key "db/password"; give DB_PASSWORD a name of letters, digits, -, _ and ., and not .. in front`}},
		"one name twice":            {annotations: three("zopp.dev/keys", "a=B,a=C"), denied: []string{"metadata.annotations[zopp.dev/keys]: a is filled twice, from B and from C; give one of them another name"}},
		"immutable":                 {annotations: three(), immutable: true, denied: []string{"immutable: nothing can be synced to an immutable Secret; create it again without immutable, or remove the annotation zopp.dev/sync"}},
		"restricted":                {annotations: three(), mapping: Restricted, denied: []string{`metadata.annotations[zopp.dev/environment]: namespace "shop" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=acme/backend/production'`}},
		"restricted and allowed":    {annotations: three(), mapping: Restricted, namespace: map[string]string{"zopp.dev/allowed-sources": "acme/backend/*"}},
		"restricted and malformed":  {annotations: three(), mapping: Restricted, namespace: map[string]string{"zopp.dev/allowed-sources": "acme/backend"}, denied: []string{`metadata.annotations[zopp.dev/environment]: namespace "shop" may not read acme/backend/production ("acme/backend" in its annotation zopp.dev/allowed-sources is not of the form workspace/project/environment and permits nothing); an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=acme/backend/production'`}},
		"a name like a pattern":     {annotations: three("zopp.dev/environment", "*"), mapping: Restricted, denied: []string{`metadata.annotations[zopp.dev/environment]: namespace "shop" may not read acme/backend/*; an administrator allows it by an entry in annotation zopp.dev/allowed-sources of Namespace shop`}},
		"open and bound":            {annotations: listed("acme/shared/production,acme/web/test"), namespace: map[string]string{"zopp.dev/allowed-sources": "acme/shared/*"}, denied: []string{`metadata.annotations[zopp.dev/sources]: namespace "shop" may not read acme/web/test; an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=acme/shared/*,acme/web/test'`}},
	} {
		t.Run(name, func(t *testing.T) {
			mapping := c.mapping
			if mapping == "" {
				mapping = Open
			}
			metadata := metav1.ObjectMeta{Name: "app", Namespace: "shop", UID: "u", Annotations: c.annotations}
			decision := decisionOn(t, snapshot, SecretQuestion(&corev1.Secret{ObjectMeta: metadata, Immutable: &c.immutable}, SecretFacts(c.annotations, mapping), namespaceWith(t, c.namespace)))
			require.Equal(t, c.denied, words(decision.Denials))
			require.Equal(t, c.warned, words(decision.Warnings))
		})
	}
}

// TestAStoredSecretIsAsked evaluates a Secret as the controller does, by its metadata alone.
func TestAStoredSecretIsAsked(t *testing.T) {
	snapshot := newRules(t)
	metadata := metav1.ObjectMeta{Name: "app", Namespace: "shop", UID: "u", Annotations: map[string]string{sync: "true", sources: "acme/backend/production"}}
	facts := SecretFacts(metadata.Annotations, Restricted)
	verdict, err := rules.Ask(t.Context(), snapshot, SecretQuestion(&corev1.Secret{ObjectMeta: metadata}, facts, namespaceWith(t, map[string]string{"zopp.dev/allowed-sources": "*/*/*"})))
	require.NoError(t, err)
	require.False(t, verdict.Denied(), verdict.Message())

	facts.Claims = []Reference{{Kind: "ZoppSecretSync", Namespace: "shop", Name: "all"}}
	verdict, err = rules.Ask(t.Context(), snapshot, SecretQuestion(&corev1.Secret{ObjectMeta: metadata}, facts, namespaceWith(t, nil)))
	require.NoError(t, err)
	require.Contains(t, verdict.Message(), "may not read acme/backend/production")
	require.Contains(t, verdict.Message(), "ZoppSecretSync shop/all fills this Secret already")
}

// TestMuchIsAskedFor checks that requests beyond the limits are denied with a message. No
// evaluation exceeds the engine's limits, which would be an error and retried forever.
func TestMuchIsAskedFor(t *testing.T) {
	snapshot := newRules(t)
	listed := func(n int, format string) string {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(entries, ",")
	}
	asked := func(name, value string) map[string]string {
		annotations := map[string]string{sync: "true", sources: "acme/backend/production"}
		annotations[v1alpha1.GroupName+"/"+name] = value
		return annotations
	}
	three := map[string]string{sync: "true", "zopp.dev/workspace": "acme", "zopp.dev/project": "backend", "zopp.dev/environment": strings.Repeat(" x:", 80000)}
	const manySources = "metadata.annotations[zopp.dev/sources]: it names more than 16 environments; share them out among several Secrets"
	const manyKeys = "metadata.annotations[zopp.dev/keys]: it has more than 1024 entries; write patterns, or take the annotation out to have all keys"
	for name, c := range map[string]struct {
		annotations map[string]string
		denied      string
	}{
		"as many sources as may be": {asked("sources", listed(16, "acme/backend/e%d")), ""},
		"one more":                  {asked("sources", listed(17, "acme/backend/e%d")), manySources},
		"thousands":                 {asked("sources", listed(15000, "a/b/e%d")), manySources},
		"thousands of nothing":      {asked("sources", strings.Repeat(",", 200000)+"acme/backend/production"), ""},
		"thousands of bad ones":     {asked("sources", listed(30000, "a%d")), manySources},
		"as many keys as may be":    {asked("keys", listed(1024, "name-%[1]d=KEY_%[1]d")), ""},
		"one more key":              {asked("keys", listed(1025, "KEY_%d")), manyKeys},
		"thousands of patterns":     {asked("keys", listed(100000, "*")), manyKeys},
		"a long pattern":            {asked("keys", strings.Repeat("*a", 100000)), "metadata.annotations[zopp.dev/keys]: an entry has more than 512 characters; write a shorter one"},
		"a long name":               {three, "metadata.annotations[zopp.dev/environment]: the name of the environment has more than 253 characters; no environment has such a name"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mapping := range []Mapping{Open, Restricted} {
				metadata := metav1.ObjectMeta{Name: "app", Namespace: "shop", UID: "u", Annotations: c.annotations}
				namespace := namespaceWith(t, map[string]string{"zopp.dev/allowed-sources": listed(200, "other/*/e%d") + ",acme/*/*"})
				began := time.Now()
				verdict, err := rules.Ask(t.Context(), snapshot, SecretQuestion(&corev1.Secret{ObjectMeta: metadata}, SecretFacts(c.annotations, mapping), namespace))
				t.Log("answered within", time.Since(began))
				require.NoError(t, err)
				if c.denied == "" {
					require.Empty(t, verdict.Denials)
				} else {
					require.Contains(t, verdict.Denials, c.denied)
				}
			}
		})
	}
}

// TestWhoMayNotFillClaimsNothing checks that an object in another namespace without permission
// does not block the Secret.
func TestWhoMayNotFillClaimsNothing(t *testing.T) {
	snapshot := newRules(t)
	claims := []Reference{{Kind: "ZoppSecretSync", Namespace: "evil", Name: "all"}}
	annotations := map[string]string{sync: "true", sources: "acme/backend/production"}
	own := &v1alpha1.ZoppSecretSync{}
	own.Name, own.Namespace, own.UID = "app", "shop", "u"
	own.Spec.Source = &Source{Workspace: "acme", Project: "backend", Environment: "production"}
	own.Spec.Target.SecretName = "app"
	for accepted, denials := range map[string]int{"": 0, "ci-*": 0, "e*": 1} {
		namespace := namespaceWith(t, map[string]string{"zopp.dev/accept-from-namespaces": accepted})
		facts := SecretFacts(annotations, Open)
		facts.Claims = claims
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "shop", UID: "u", Annotations: annotations}}
		require.Len(t, decisionOn(t, snapshot, SecretQuestion(secret, facts, namespace)).Denials, denials, accepted)
		facts = SyncFacts(own, Open)
		facts.Claims = claims
		require.Len(t, decisionOn(t, snapshot, SyncQuestion(own, facts, namespace)).Denials, denials, accepted)
	}
}

// TestNoValuesAreAsked: neither those of the Secret, nor those that kubectl has noted.
func TestNoValuesAreAsked(t *testing.T) {
	annotations := map[string]string{sync: "true", "kubectl.kubernetes.io/last-applied-configuration": "HUNTER2"}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Annotations: annotations},
		Data:       map[string][]byte{"k": []byte("HUNTER2")}, StringData: map[string]string{"k": "HUNTER2"},
	}
	text, err := json.Marshal(SecretQuestion(secret, Facts{}, nil).Object)
	require.NoError(t, err)
	require.Contains(t, string(text), `"zopp.dev/sync":"true"`)
	require.NotContains(t, string(text), "HUNTER2")
	require.NotContains(t, string(text), "SFVOVEVSMg", "nor in base64")
	require.Len(t, annotations, 2, "the Secret is as it was")
}

func TestZoppSecretSyncs(t *testing.T) {
	snapshot := newRules(t)
	good := func() *v1alpha1.ZoppSecretSync {
		s := &v1alpha1.ZoppSecretSync{}
		s.Name, s.Namespace, s.UID = "app", "shop", "u"
		s.Spec.Source = &Source{Workspace: "acme", Project: "backend", Environment: "production"}
		s.Spec.Target.SecretName = "app"
		return s
	}
	web := &Target{Namespace: "web", Served: true, Exists: true, Annotations: map[string]string{"zopp.dev/accept-from-namespaces": "shop"}}
	for name, c := range map[string]struct {
		change  func(*v1alpha1.ZoppSecretSync)
		target  *Target
		mapping Mapping
		denied  []string
	}{
		"good":        {mapping: Open},
		"elsewhere":   {mapping: Open, target: web},
		"a bad entry": {mapping: Open, change: func(s *v1alpha1.ZoppSecretSync) { s.Spec.Keys = []string{"A", "a*=B", "="} }, denied: []string{`spec.keys[1]: Kubernetes takes no key "a*"; give B a name of letters, digits, -, _ and ., and not .. in front`, "spec.keys[2]: an entry names no key of zopp; KEY, API_* and name=KEY are entries"}},
		"a colon":     {mapping: Open, change: func(s *v1alpha1.ZoppSecretSync) { s.Spec.Source.Workspace = ":" }, denied: []string{`spec.source.workspace: ":" has a colon; zopp authenticates values by names with colons between them, so that this one may stand for another; rename the workspace in zopp`}},
		"restricted, both": {mapping: Restricted, target: web, denied: []string{
			`spec.source: namespace "shop" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=acme/backend/production'`,
			`spec.source: namespace "web" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace web 'zopp.dev/allowed-sources=acme/backend/production'`,
		}},
		"suspended": {mapping: Restricted, change: func(s *v1alpha1.ZoppSecretSync) { s.Spec.Suspend = true }, denied: []string{
			`spec.source: namespace "shop" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=acme/backend/production'`,
		}},
		"not accepted": {mapping: Open, target: &Target{Namespace: "web", Served: true, Exists: true}, denied: []string{`spec.target.namespace: namespace "web" accepts no Secrets from namespace "shop"; an administrator allows it by kubectl annotate --overwrite namespace web 'zopp.dev/accept-from-namespaces=shop'`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			if c.change != nil {
				c.change(s)
			}
			facts := SyncFacts(s, c.mapping)
			facts.Target = c.target
			require.Equal(t, c.denied, words(decisionOn(t, snapshot, SyncQuestion(s, facts, namespaceWith(t, nil))).Denials))
		})
	}
}

func TestParseMapping(t *testing.T) {
	mapping, err := ParseMapping("open")
	require.NoError(t, err)
	require.Equal(t, Open, mapping)
	_, err = ParseMapping("closed")
	require.EqualError(t, err, `"closed" is not one of Restricted, Open`)
}
