package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func noVariables(string) (string, bool) { return "", false }

// written is a principal as a file has it.
func (e entry) written() map[string]any {
	return map[string]any{
		"id": e.id.value, "name": e.name.value,
		"private_key": e.private.value, "public_key": e.public.value,
		"x25519_private_key": e.unwrapping.value, "x25519_public_key": e.wrapping.value,
	}
}

// changed is the known principal, with one field set, or without it where it is nil.
func changed(name string, value any) map[string]any {
	w := known.written()
	if w[name] = value; value == nil {
		delete(w, name)
	}
	return w
}

func fileOf(t testing.TB, current any, principals ...map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"principals": principals, "current_principal": current, "user_id": "ignored", "email": nil})
	require.NoError(t, err)
	return string(text)
}

func problemOf(t *testing.T, err error) *Error {
	t.Helper()
	var problem *Error
	require.ErrorAs(t, err, &problem)
	return problem
}

// TestFilesOfCredentials checks which principal is current, and the errors for invalid files.
func TestFilesOfCredentials(t *testing.T) {
	second := changed("name", "second")
	for name, c := range map[string]struct{ text, name, err string }{
		"one":                    {text: fileOf(t, "k8s-operator", known.written()), name: "k8s-operator"},
		"the first":              {text: fileOf(t, nil, known.written(), second), name: "k8s-operator"},
		"the current":            {text: fileOf(t, "second", known.written(), second), name: "second"},
		"another is malformed":   {text: fileOf(t, "second", changed("private_key", "zz"), second), name: "second"},
		"current is missing":     {text: fileOf(t, "third", known.written(), second), err: `current_principal "third" is not one of the principals of the file (k8s-operator, second); ` + "`zopp principal use NAME` selects one"},
		"none":                   {text: `{"principals":[]}`, err: "there are no principals; `zopp principal create NAME --service -w WORKSPACE` creates one"},
		"nothing":                {text: ``, err: "invalid JSON at byte 0"},
		"half of it":             {text: fileOf(t, nil, known.written())[:100], err: "invalid JSON at byte 100"},
		"a list":                 {text: `[]`, err: "not a JSON object of principals"},
		"principals in a map":    {text: `{"principals":{}}`, err: "principals should be a []struct"},
		"a number for a key":     {text: fileOf(t, nil, changed("private_key", 5555)), err: "principals.private_key should be a string"},
		"no id":                  {text: fileOf(t, nil, changed("id", nil)), err: "principals[0].id is not a UUID"},
		"an id for a header":     {text: fileOf(t, nil, changed("id", "x\r\ny: z")), err: "principals[0].id is not a UUID"},
		"no private key":         {text: fileOf(t, nil, changed("private_key", nil)), err: "principals[0].private_key is missing"},
		"no public key":          {text: fileOf(t, nil, changed("public_key", "")), err: "principals[0].public_key is missing"},
		"no X25519 key":          {text: fileOf(t, "second", known.written(), map[string]any{"id": known.id.value, "name": "second", "private_key": known.private.value, "public_key": known.public.value}), err: "principals[1].x25519_private_key is missing"},
		"null for a key":         {text: fileOf(t, nil, changed("x25519_private_key", json.RawMessage("null"))), err: "principals[0].x25519_private_key is missing"},
		"no X25519 public key":   {text: fileOf(t, nil, changed("x25519_public_key", json.RawMessage("null"))), name: "k8s-operator"},
		"a short key":            {text: fileOf(t, nil, changed("private_key", strings.Repeat("55", 31))), err: "principals[0].private_key has 62 characters, and must have 64: 32 bytes in hex"},
		"a key in base64":        {text: fileOf(t, nil, changed("private_key", "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVU=")), err: "principals[0].private_key has 44 characters, and must have 64: 32 bytes in hex"},
		"no hex":                 {text: fileOf(t, nil, changed("x25519_private_key", strings.Repeat("zz", 32))), err: "principals[0].x25519_private_key is not hexadecimal"},
		"a public key for both":  {text: fileOf(t, nil, changed("public_key", known.wrapping.value)), err: "principals[0].public_key is not the public key of principals[0].private_key: they belong to different principals"},
		"an X25519 key of other": {text: fileOf(t, nil, changed("x25519_public_key", known.public.value)), err: "principals[0].x25519_public_key is not the public key of principals[0].x25519_private_key: they belong to different principals"},
		"very large":             {text: strings.Repeat(" ", maxFileBytes+1), err: "larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "credentials.json")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			credentials, err := FindCredentials(path, noVariables)
			require.NoError(t, err, "a file may be mended later")
			principal, err := credentials.Principal()
			if c.err == "" {
				require.NoError(t, err)
				require.Equal(t, c.name, principal.Name)
				return
			}
			problem := problemOf(t, err)
			require.Equal(t, ReasonInvalidCredentials, problem.Reason)
			require.Contains(t, problem.Message, c.err)
			require.Contains(t, problem.Message, path)
			requireNoKeys(t, strings.ReplaceAll(problem.Message, path, ""))
		})
	}
}

// requireNoKeys checks that a text contains no part of a key.
func requireNoKeys(t *testing.T, text string) {
	t.Helper()
	for _, part := range []string{"5555", "1111", "VVVV", "zz", known.public.value[:8]} {
		require.NotContains(t, text, part)
	}
}

// TestVariables: all six, or a file.
func TestVariables(t *testing.T) {
	all := map[string]string{
		"ZOPP_PRINCIPAL_ID": known.id.value, "ZOPP_PRINCIPAL_NAME": known.name.value,
		"ZOPP_PRIVATE_KEY": known.private.value, "ZOPP_PUBLIC_KEY": known.public.value,
		"ZOPP_X25519_PRIVATE_KEY": known.unwrapping.value, "ZOPP_X25519_PUBLIC_KEY": known.wrapping.value,
	}
	lookup := func(name string) (string, bool) { value, there := all[name]; return value, there }
	credentials, err := FindCredentials("/is/not/read", lookup)
	require.NoError(t, err)
	principal, err := credentials.Principal()
	require.NoError(t, err)
	require.Equal(t, `"k8s-operator" (018f0000-0000-7000-8000-000000000002)`, principal.String())

	all["ZOPP_PUBLIC_KEY"] = "zz"
	_, err = FindCredentials("", lookup)
	require.Equal(t, ReasonInvalidCredentials, problemOf(t, err).Reason)
	require.EqualError(t, err, "zopp's credentials: the environment: ZOPP_PUBLIC_KEY has 2 characters, and must have 64: 32 bytes in hex")
	delete(all, "ZOPP_PUBLIC_KEY")
	all["ZOPP_PRIVATE_KEY"] = ""
	_, err = FindCredentials("", lookup)
	require.EqualError(t, err, "zopp's credentials: ZOPP_PRINCIPAL_ID is set, but these variables are missing: ZOPP_PRIVATE_KEY, ZOPP_PUBLIC_KEY; set all six variables of a principal, or unset ZOPP_PRINCIPAL_ID to use a file")
	delete(all, "ZOPP_PRINCIPAL_ID")
	all["HOME"] = t.TempDir()
	credentials, err = FindCredentials("", lookup)
	require.NoError(t, err, "the others alone mean nothing")
	_, err = credentials.Principal()
	require.EqualError(t, err, fmt.Sprintf("zopp's credentials: there is no file %[1]s/.zopp/credentials.json or %[1]s/.zopp/config.json, and ZOPP_PRINCIPAL_ID is not set; name the file of a service principal with --zopp-credentials, or set its six variables", all["HOME"]))
}

// TestThePlacesOfAFile: both of the product's, and it is read again when it changes.
func TestThePlacesOfAFile(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, ".zopp")
	require.NoError(t, os.Mkdir(folder, 0o700))
	credentials, err := FindCredentials("", func(name string) (string, bool) { return home, name == "HOME" })
	require.NoError(t, err)
	current := func() string {
		principal, err := credentials.Principal()
		require.NoError(t, err)
		return principal.Name
	}
	write := func(file, name string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(fileOf(t, nil, changed("name", name))), 0o600))
	}
	_, err = credentials.Principal()
	require.Error(t, err)
	write("config.json", "first")
	require.Equal(t, "first", current())
	write("config.json", "again")
	require.Equal(t, "again", current())
	write("credentials.json", "other")
	require.Equal(t, "other", current())

	named, err := FindCredentials(filepath.Join(folder, "named.json"), noVariables)
	require.NoError(t, err)
	_, err = named.Principal()
	require.ErrorContains(t, err, "there is no file "+folder+"/named.json, and", "no other file is used instead")
	unreadable, err := FindCredentials(folder, noVariables)
	require.NoError(t, err)
	_, err = unreadable.Principal()
	require.Equal(t, ReasonInvalidCredentials, problemOf(t, err).Reason)
}

// TestAPrincipalShowsNoKey: however it is printed.
func TestAPrincipalShowsNoKey(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, `"k8s-operator" (018f0000-0000-7000-8000-000000000002)`, fmt.Sprintf(verb, knownPrincipal(t)))
	}
}

// FuzzCredentials checks that each key of a file has 32 bytes or is an error. It leaves out the
// use of the keys, which has so many paths that little else would be tried.
func FuzzCredentials(f *testing.F) {
	f.Add([]byte(fileOf(f, "k8s-operator", known.written())))
	f.Add([]byte(fileOf(f, nil, changed("id", nil))))
	f.Add([]byte(`{"principals":[null]}`))
	f.Add([]byte(`{"principals":[{}],"current_principal":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := find(text)
		if err != nil {
			return
		}
		for _, written := range []field{found.private, found.public, found.unwrapping, found.wrapping} {
			if key, err := written.key(); (err == nil) != (len(key) == keyBytes) {
				t.Fatalf("a key of %d bytes: %v", len(key), err)
			}
		}
	})
}
