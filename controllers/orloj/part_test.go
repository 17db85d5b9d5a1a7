package orloj

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

func TestSettings(t *testing.T) {
	complete := func(args ...string) (settings, rules.Mapping, error) {
		var s settings
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.addTo(flags)
		require.NoError(t, flags.Parse(args))
		return s.complete()
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--orloj-postgres-dsn is missing: give the connection string of orlojd's database, there or in ORLOJ_POSTGRES_DSN"},
		{[]string{"--orloj-postgres-dsn=x", "--orloj-storage-backend=memory"}, `--orloj-storage-backend is "memory", and there is postgres alone`},
		{[]string{"--orloj-postgres-dsn=x", "--orloj-sql-driver=pq"}, `--orloj-sql-driver is "pq", and there is pgx alone`},
		{[]string{"--orloj-postgres-dsn=x", "--orloj-namespace-mapping=closed"}, `--orloj-namespace-mapping: "closed" is not one of Restricted, Open`},
		{[]string{"--orloj-postgres-dsn=x", "--orloj-drift-interval=0s"}, "--orloj-status-sync-interval and --orloj-drift-interval are above 0"},
	} {
		_, _, err := complete(c.args...)
		require.EqualError(t, err, c.says)
	}
	t.Setenv("ORLOJ_POSTGRES_DSN", "from the environment")
	t.Setenv("ORLOJ_SECRET_ENCRYPTION_KEY", "key")
	t.Setenv("ORLOJ_STORAGE_BACKEND", "postgres")
	o, mapping, err := complete()
	require.NoError(t, err)
	require.Equal(t, rules.Restricted, mapping)
	require.Equal(t, "from the environment", o.dsn)
	require.Equal(t, "key", o.key)
	t.Setenv("ORLOJ_NAMESPACE_MAPPING", "Open")
	o, mapping, err = complete("--orloj-postgres-dsn=flag")
	require.NoError(t, err)
	require.Equal(t, rules.Open, mapping)
	require.Equal(t, "flag", o.dsn, "a flag beats the environment")
}
