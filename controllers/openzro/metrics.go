package openzro

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// metrics tell how servers answer, and how objects are.
type metrics struct {
	requests *prometheus.CounterVec
	failing  *prometheus.GaugeVec
	repaired *prometheus.CounterVec

	mutex sync.Mutex
	// fails are the objects that are not as they should be, by kind.
	fails map[string]map[types.NamespacedName]bool
}

func newMetrics(registry prometheus.Registerer) *metrics {
	r := promauto.With(registry)
	return &metrics{
		requests: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_openzro_requests_total", Help: "Requests to management servers; code 0 stands for a missing response."}, []string{"collection", "method", "code"}),
		failing: r.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lintel_openzro_objects_failing", Help: "Objects that are not Reconciled."}, []string{"kind"}),
		repaired: r.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_openzro_writes_total", Help: "Items that were created, changed or deleted at management servers."}, []string{"kind", "operation"}),
		fails: map[string]map[types.NamespacedName]bool{},
	}
}

// observe counts a request.
func (m *metrics) observe(method, collection string, code int) {
	m.requests.WithLabelValues(collection, method, strconv.Itoa(code)).Inc()
}

// says notes whether an object is as it should be.
func (m *metrics) says(kind string, name types.NamespacedName, fails bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.fails[kind] == nil {
		m.fails[kind] = map[types.NamespacedName]bool{}
	}
	if fails {
		m.fails[kind][name] = true
	} else {
		delete(m.fails[kind], name)
	}
	m.failing.WithLabelValues(kind).Set(float64(len(m.fails[kind])))
}

// tenantMetrics tell how the servers of tenants are. A tenant is called by the namespace
// whose Secret it has, and default.
type tenantMetrics struct {
	tenants  *management.TenantCache
	up, last *prometheus.Desc
}

func newTenantMetrics(tenants *management.TenantCache) tenantMetrics {
	return tenantMetrics{
		tenants,
		prometheus.NewDesc("lintel_openzro_server_up", "1 while the management server of a tenant can be used, 0 while it cannot.", []string{"tenant"}, nil),
		prometheus.NewDesc("lintel_openzro_last_list_timestamp_seconds", "When all collections of a tenant were last listed.", []string{"tenant"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m tenantMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.up
	out <- m.last
}

// Collect implements prometheus.Collector.
func (m tenantMetrics) Collect(out chan<- prometheus.Metric) {
	seen := map[string]bool{}
	for _, t := range m.tenants.All() {
		if seen[t.Name()] {
			continue // its key is about to be replaced
		}
		seen[t.Name()] = true
		up := 1.0
		if t.Outage() != nil {
			up = 0
		}
		out <- prometheus.MustNewConstMetric(m.up, prometheus.GaugeValue, up, t.Name())
		if last := t.Refreshed(); !last.IsZero() {
			out <- prometheus.MustNewConstMetric(m.last, prometheus.GaugeValue, float64(last.UnixMilli())/1000, t.Name())
		}
	}
}
