package zopp

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

func environment(workspace, project, name string) Source {
	return Source{Workspace: workspace, Project: project, Environment: name}
}

func TestRead(t *testing.T) {
	production, shared := environment("acme", "backend", "production"), environment("acme", "shared", "production")
	for name, c := range map[string]struct {
		annotations map[string]string
		is          Request
	}{
		"nothing": {nil, Request{}},
		"the product document's": {
			map[string]string{"zopp.dev/sync": "true", "zopp.dev/workspace": "acme", "zopp.dev/project": "backend", "zopp.dev/environment": "production"},
			Request{Sync: true, Sources: []Source{production}},
		},
		"not exactly true": {map[string]string{"zopp.dev/sync": "True", "zopp.dev/cleanup": "yes"}, Request{}},
		"one is missing":   {map[string]string{"zopp.dev/sync": "true", "zopp.dev/workspace": "acme", "zopp.dev/environment": "production"}, Request{Sync: true}},
		"one is empty": {
			map[string]string{"zopp.dev/workspace": "acme", "zopp.dev/project": "", "zopp.dev/environment": "production"},
			Request{Sources: []Source{{Workspace: "acme", Environment: "production"}}},
		},
		"what zopp's command line writes is no request": {
			map[string]string{"zopp.dev/workspace": "acme", "zopp.dev/project": "backend", "zopp.dev/environment": "production", "zopp.dev/synced-at": "now"},
			Request{Sources: []Source{production}},
		},
		"several": {
			map[string]string{"zopp.dev/sync": "true", "zopp.dev/sources": " acme/shared/production,acme/backend/production ,", "zopp.dev/cleanup": "true"},
			Request{Sync: true, Sources: []Source{shared, production}, Cleanup: true},
		},
		"bad entries": {
			map[string]string{"zopp.dev/sources": "acme, a/b, a/b/c/d"},
			Request{Sources: []Source{{Workspace: "acme"}, {Workspace: "a", Project: "b"}, environment("a", "b", "c/d")}},
		},
		"keys": {
			map[string]string{"zopp.dev/keys": "DATABASE_URL, db.password = DB_PASSWORD,API_*,=X,y=,a=b=c"},
			Request{Keys: KeyList{{Key: "DATABASE_URL"}, {"db.password", "DB_PASSWORD"}, {Key: "API_*"}, {Key: "X"}, {Name: "y"}, {"a", "b=c"}}},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.is, Read(c.annotations)) })
	}
}

func TestReadSync(t *testing.T) {
	production := environment("acme", "backend", "production")
	sync := &v1alpha1.ZoppSecretSync{Spec: v1alpha1.ZoppSecretSyncSpec{Source: &production, Keys: []string{"a=B"}}}
	require.Equal(t, Request{Sync: true, Sources: []Source{production}, Keys: KeyList{{"a", "B"}}, Cleanup: true}, ReadSync(sync))
	sync = &v1alpha1.ZoppSecretSync{Spec: v1alpha1.ZoppSecretSyncSpec{Sources: []Source{production, production}, Suspend: true}}
	require.Equal(t, Request{Sources: []Source{production, production}, Cleanup: true}, ReadSync(sync))
}

func TestSelect(t *testing.T) {
	available := []string{"API_KEY", "API_URL", "DB_PASSWORD", "with\nline", "a.b"}
	const bytes = "\xff*" // as a client may store it that writes protobuf
	for name, c := range map[string]struct {
		keys    string
		is      map[string]string
		missing []string
	}{
		"no filter":                 {"", map[string]string{"API_KEY": "API_KEY", "API_URL": "API_URL", "DB_PASSWORD": "DB_PASSWORD", "with\nline": "with\nline", "a.b": "a.b"}, nil},
		"a key and a pattern":       {"DB_PASSWORD,*_URL", map[string]string{"DB_PASSWORD": "DB_PASSWORD", "API_URL": "API_URL"}, nil},
		"no other wildcards":        {"a?b,API_.*,[a].b*", map[string]string{}, []string{"a?b"}},
		"a name":                    {"db.password=DB_PASSWORD", map[string]string{"db.password": "DB_PASSWORD"}, nil},
		"a name that is also a key": {"API_*,API_KEY=DB_PASSWORD", map[string]string{"API_KEY": "DB_PASSWORD", "API_URL": "API_URL"}, nil},
		"before the pattern":        {"API_KEY=DB_PASSWORD,API_*", map[string]string{"API_KEY": "DB_PASSWORD", "API_URL": "API_URL"}, nil},
		"missing":                   {"NONE,x=NEITHER,NO*", map[string]string{}, []string{"NONE", "NEITHER"}},
		"several wildcards":         {"A*_*Y,*A*I*U*,D**D,A*A*A*,*I_KE", map[string]string{"API_KEY": "API_KEY", "API_URL": "API_URL", "DB_PASSWORD": "DB_PASSWORD"}, nil},
		"no part counts twice":      {"API_*_URL,DB_PASSWORD*D", map[string]string{}, nil},
		"no text":                   {bytes, map[string]string{}, nil},
		"a pattern is not renamed":  {"x=API_*", map[string]string{}, []string{"API_*"}},
	} {
		t.Run(name, func(t *testing.T) {
			selected, missing := readKeys(list(c.keys)).Select(available)
			require.Equal(t, c.is, selected)
			require.Equal(t, c.missing, missing)
		})
	}
}
