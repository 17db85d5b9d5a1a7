package zopp

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// parse reads flags as the manager does.
func parse(t *testing.T, args ...string) (settings, error) {
	t.Helper()
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.addTo(flags)
	require.NoError(t, flags.Parse(args))
	return s, s.check()
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--zopp-namespace-mapping=closed"}, `--zopp-namespace-mapping: "closed" is not one of Restricted, Open`},
		{[]string{"--zopp-poll-interval=0s"}, "--zopp-poll-interval must be greater than 0"},
	} {
		s, err := parse(t, c.args...)
		require.NoError(t, err)
		_, _, err = s.complete()
		require.EqualError(t, err, c.says)
	}
	_, err := parse(t, "--zopp-namespaces=a,B")
	require.ErrorContains(t, err, `--zopp-namespaces: Invalid value "B"`)
	for server, says := range map[string]string{"zopp-server:50051": "scheme", "ftp://zopp-server": "http"} {
		s, err := parse(t, "--zopp-server="+server)
		require.NoError(t, err)
		_, err = s.open()
		require.ErrorContains(t, err, says)
	}
}

func TestSettingsByDefault(t *testing.T) {
	s, err := parse(t)
	require.NoError(t, err)
	s, mapping, err := s.complete()
	require.NoError(t, err)
	require.Equal(t, rules.Restricted, mapping)
	require.Equal(t, settings{server: "http://127.0.0.1:50051", pollInterval: time.Minute}, s)
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	for variable, value := range map[string]string{
		"ZOPP_SERVER": "https://zopp", "ZOPP_TLS_CA_CERT": "ca.pem", "ZOPP_CREDENTIALS": "keys.json",
		"ZOPP_NAMESPACE": "shop, web", "ZOPP_NAMESPACE_MAPPING": "open",
	} {
		t.Setenv(variable, value)
	}
	s, err := parse(t)
	require.NoError(t, err)
	s, mapping, err := s.complete()
	require.NoError(t, err)
	require.Equal(t, rules.Open, mapping)
	require.Equal(t, []string{"shop", "web"}, s.namespaces)
	require.Equal(t, []string{"https://zopp", "ca.pem", "keys.json"}, []string{s.server, s.caFile, s.credentials})

	s, err = parse(t, "--zopp-server=http://flag", "--zopp-namespaces=own", "--zopp-namespace-mapping=Restricted")
	require.NoError(t, err)
	s, mapping, err = s.complete()
	require.NoError(t, err)
	require.Equal(t, "http://flag", s.server, "a flag beats the environment")
	require.Equal(t, []string{"own"}, s.namespaces)
	require.Equal(t, rules.Restricted, mapping)
}
