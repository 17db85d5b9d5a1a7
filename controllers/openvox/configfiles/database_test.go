package configfiles

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

func TestWherePostgresIs(t *testing.T) {
	for want, p := range map[string]v1alpha1.PostgresSpec{
		"//pg:5432/openvoxdb?sslmode=require":                                                     {Host: "pg", Port: 5432, Database: "openvoxdb", SSLMode: "require"},
		"//[fd00::1]:6432/a?sslmode=disable":                                                      {Host: "fd00::1", Port: 6432, Database: "a", SSLMode: "disable"},
		"//pg:1/a%2Fb%3Fsslmode=x?sslmode=require":                                                {Host: "pg", Port: 1, Database: "a/b?sslmode=x", SSLMode: "require"},
		"//pg:1/a?sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory&sslmode=verify-full":        {Host: "pg", Port: 1, Database: "a", SSLMode: "verify-full"},
		"//pg:1/a?sslmode=verify-full&sslrootcert=%2Fetc%2Fpuppetlabs%2Flintel%2Fpostgres-ca.pem": {Host: "pg", Port: 1, Database: "a", SSLMode: "verify-full", CASecretRef: &v1alpha1.SecretKeyRef{}},
	} {
		require.Equal(t, want, DatabaseInput{Postgres: p}.subname())
	}
}

// TestWhoMayAsk: only listed clients may query, and only by their exact names.
func TestWhoMayAsk(t *testing.T) {
	files, _, err := RenderDatabase(DatabaseInput{})
	require.NoError(t, err)
	require.Empty(t, files[DatabaseAllowed])
	require.NotContains(t, files["auth.conf"], `"allow"`)
	files, secret, err := RenderDatabase(DatabaseInput{Allowed: []string{"b.example.com", "a", "a"}, Password: "${HOME}"})
	require.NoError(t, err)
	require.Equal(t, "a\nb.example.com\n", files[DatabaseAllowed])
	require.Contains(t, files["auth.conf"], `"/\\Ab\\.example\\.com\\z/"`)
	var written struct{ Database struct{ Password string } }
	require.NoError(t, json.Unmarshal([]byte(secret[DatabaseCredentials]), &written))
	require.Equal(t, "${HOME}", written.Database.Password, "within quotes nothing is substituted")
	for _, in := range []DatabaseInput{{Username: "a\nb"}, {Password: "a\x00"}} {
		_, _, err = RenderDatabase(in)
		require.ErrorContains(t, err, "more than one line, or a control character")
	}
}
