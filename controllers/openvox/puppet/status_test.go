package puppet

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCertificateStatuses: what Puppet Server 7.9.5 writes is read, and a list that is not one is
// an error as a whole.
func TestCertificateStatuses(t *testing.T) {
	const signed = `{"name":"a.example.com","dns_alt_names":["DNS:a.example.com"],"state":"signed","authorization_extensions":{},"subject_alt_names":["DNS:a.example.com","IP:10.0.0.1"],` +
		`"not_before":"2026-11-26T04:06:28UTC","fingerprints":{"SHA1":"FE","SHA256":"FA:06","default":"FA:06"},"not_after":"2031-11-26T04:06:28UTC","serial_number":255,"fingerprint":"FA:06"}`
	for name, c := range map[string]struct{ answer, want string }{
		"read":          {"[" + signed + "]", ""},
		"empty":         {"[]", ""},
		"null":          {"null", "it is null"},
		"nothing":       {"", "not a list of certificates"},
		"object":        {signed, "not a list of certificates"},
		"cut":           {"[" + signed, "not a list of certificates"},
		"twice":         {"[" + signed + "," + signed + "]", `"a.example.com" is listed twice`},
		"no name":       {`[{"state":"signed"}]`, "an entry has no name"},
		"unknown state": {`[{"name":"a","state":"expired"}]`, `"a" has the unknown state "expired"`},
		"no serial":     {`[{"name":"a","state":"signed","serial_number":1.5}]`, `"a" has the serial number "1.5"`},
		"no date":       {`[{"name":"a","state":"signed","not_after":"soon"}]`, `"a" has the date "soon"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(c.answer)) }, time.Minute)
			statuses, err := client.CertificateStatuses(t.Context())
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				require.Empty(t, statuses)
				return
			}
			require.NoError(t, err)
			for _, status := range statuses {
				require.Equal(t, CertificateStatus{
					Name: "a.example.com", State: StateSigned, Fingerprint: "FA:06", SubjectAltNames: []string{"DNS:a.example.com", "IP:10.0.0.1"}, Serial: "ff",
					NotBefore: time.Date(2026, 11, 26, 4, 6, 28, 0, time.UTC), NotAfter: time.Date(2031, 11, 26, 4, 6, 28, 0, time.UTC),
				}, status)
			}
		})
	}
	client := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(signed)) }, time.Minute)
	_, err := client.CertificateStatus(t.Context(), "b.example.com")
	require.ErrorContains(t, err, `the answer is about "a.example.com"`)
}
