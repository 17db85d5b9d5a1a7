package serving

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
)

// The kinds of this package that can be paused. NodeClassifiers are rendered for Configs, which
// can be.
var (
	configPausing = pausing.Kind[*v1alpha1.Config, v1alpha1.ConfigStatus]{
		Status:     func(c *v1alpha1.Config) *v1alpha1.ConfigStatus { return &c.Status },
		Conditions: func(s *v1alpha1.ConfigStatus) *[]metav1.Condition { return &s.Conditions },
	}
	serverPausing = pausing.Kind[*v1alpha1.Server, v1alpha1.ServerStatus]{
		Status:     func(s *v1alpha1.Server) *v1alpha1.ServerStatus { return &s.Status },
		Conditions: func(s *v1alpha1.ServerStatus) *[]metav1.Condition { return &s.Conditions },
	}
	databasePausing = pausing.Kind[*v1alpha1.Database, v1alpha1.DatabaseStatus]{
		Status:     func(d *v1alpha1.Database) *v1alpha1.DatabaseStatus { return &d.Status },
		Conditions: func(s *v1alpha1.DatabaseStatus) *[]metav1.Condition { return &s.Conditions },
	}
	poolPausing = pausing.Kind[*v1alpha1.Pool, v1alpha1.PoolStatus]{
		Status:     func(p *v1alpha1.Pool) *v1alpha1.PoolStatus { return &p.Status },
		Conditions: func(s *v1alpha1.PoolStatus) *[]metav1.Condition { return &s.Conditions },
	}
	processorPausing = pausing.Kind[*v1alpha1.ReportProcessor, v1alpha1.ReportProcessorStatus]{
		Status:     func(p *v1alpha1.ReportProcessor) *v1alpha1.ReportProcessorStatus { return &p.Status },
		Conditions: func(s *v1alpha1.ReportProcessorStatus) *[]metav1.Condition { return &s.Conditions },
	}
)
