package authority

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

var (
	crlLabels      = []string{"namespace", "name"}
	crlAge         = prometheus.NewDesc("lintel_openvox_crl_age_seconds", "How long ago the CA issued the CRL that is stored.", crlLabels, nil)
	crlNextUpdate  = prometheus.NewDesc("lintel_openvox_crl_next_update_timestamp_seconds", "When the CRL that is stored ends.", crlLabels, nil)
	crlLastRefresh = prometheus.NewDesc("lintel_openvox_crl_last_refresh_timestamp_seconds", "When the CA was asked for its CRL last, and gave one that was taken.", crlLabels, nil)
	caNotAfter     = prometheus.NewDesc("lintel_openvox_ca_not_after_timestamp_seconds", "When the CA's own certificate ends.", crlLabels, nil)
	crlMissing     = prometheus.NewDesc("lintel_openvox_crl_missing_revocations", "Certificates that were revoked from here, have not expired, and are not on the CRL.", crlLabels, nil)
	crlFailures    = prometheus.NewDesc("lintel_openvox_crl_refresh_failures_total", "Tries to read a CRL that failed, or gave one that was not taken.", crlLabels, nil)
)

// crlMetrics describes the CRLs and the certificates of all CertificateAuthorities. Only the
// leader exports them.
type crlMetrics struct {
	now   func() time.Time
	mutex sync.Mutex
	known map[types.NamespacedName]crlFacts
}

// crlFacts are of one CRL, which has no dates where nothing is stored.
type crlFacts struct {
	crl      v1alpha1.CRLStatus
	notAfter *metav1.Time
	failures float64
}

func newCRLMetrics(now func() time.Time) *crlMetrics {
	return &crlMetrics{now: now, known: map[types.NamespacedName]crlFacts{}}
}

// observe takes what the status of a CA says.
func (m *crlMetrics) observe(ca *v1alpha1.CertificateAuthority) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := client.ObjectKeyFromObject(ca)
	facts := m.known[key]
	facts.crl, facts.notAfter = ptr.Deref(ca.Status.CRL, facts.crl), ca.Status.NotAfter
	m.known[key] = facts
}

func (m *crlMetrics) failed(key types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	facts := m.known[key]
	facts.failures++
	m.known[key] = facts
}

func (m *crlMetrics) forget(key types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, key)
}

// Describe implements prometheus.Collector.
func (m *crlMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{crlAge, crlNextUpdate, crlLastRefresh, caNotAfter, crlMissing, crlFailures} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector.
func (m *crlMetrics) Collect(metrics chan<- prometheus.Metric) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for key, facts := range m.known {
		gauge := func(description *prometheus.Desc, value float64) {
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, key.Namespace, key.Name)
		}
		if at := facts.crl.ThisUpdate; !at.IsZero() {
			gauge(crlAge, m.now().Sub(at.Time).Seconds())
		}
		if at := facts.crl.NextUpdate; !at.IsZero() {
			gauge(crlNextUpdate, float64(at.Unix()))
		}
		if at := facts.crl.Refreshed; !at.IsZero() {
			gauge(crlLastRefresh, float64(at.Unix()))
			gauge(crlMissing, float64(facts.crl.MissingCount))
		}
		if at := facts.notAfter; !at.IsZero() {
			gauge(caNotAfter, float64(at.Unix()))
		}
		metrics <- prometheus.MustNewConstMetric(crlFailures, prometheus.CounterValue, facts.failures, key.Namespace, key.Name)
	}
}
