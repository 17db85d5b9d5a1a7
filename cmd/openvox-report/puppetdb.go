package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// commandPath is where a PuppetDB takes commands.
const commandPath = "/pdb/cmd/v1"

// puppetReport is what Puppet's report has, as of its format 12, and PuppetDB asks for.
type puppetReport struct {
	Host                 string                    `json:"host"`
	Time                 time.Time                 `json:"time"`
	Logs                 []wireLog                 `json:"logs"`
	Metrics              map[string]puppetMetric   `json:"metrics"`
	ResourceStatuses     map[string]puppetResource `json:"resource_statuses"`
	ConfigurationVersion json.RawMessage           `json:"configuration_version"`
	TransactionUUID      *string                   `json:"transaction_uuid"`
	CatalogUUID          *string                   `json:"catalog_uuid"`
	CodeID               *string                   `json:"code_id"`
	JobID                *string                   `json:"job_id"`
	CachedCatalogStatus  *string                   `json:"cached_catalog_status"`
	ServerUsed           *string                   `json:"server_used"`
	ReportFormat         json.RawMessage           `json:"report_format"`
	PuppetVersion        string                    `json:"puppet_version"`
	Environment          string                    `json:"environment"`
	Status               string                    `json:"status"`
	Noop                 *bool                     `json:"noop"`
	NoopPending          *bool                     `json:"noop_pending"`
	CorrectiveChange     *bool                     `json:"corrective_change"`
}

// puppetMetric has values of a name, a label and a number each.
type puppetMetric struct {
	Name   string              `json:"name"`
	Values [][]json.RawMessage `json:"values"`
}

type puppetResource struct {
	Title            json.RawMessage `json:"title"`
	ResourceType     string          `json:"resource_type"`
	File             *string         `json:"file"`
	Line             *int            `json:"line"`
	Time             string          `json:"time"`
	Skipped          bool            `json:"skipped"`
	ContainmentPath  []string        `json:"containment_path"`
	CorrectiveChange *bool           `json:"corrective_change"`
	Events           []puppetEvent   `json:"events"`
}

type puppetEvent struct {
	Status           string          `json:"status"`
	Time             string          `json:"time"`
	Name             *string         `json:"name"`
	Property         *string         `json:"property"`
	DesiredValue     json.RawMessage `json:"desired_value"`
	PreviousValue    json.RawMessage `json:"previous_value"`
	CorrectiveChange *bool           `json:"corrective_change"`
	Message          *string         `json:"message"`
}

// wireReport is PuppetDB's report, wire format 8.
type wireReport struct {
	Certname             string          `json:"certname"`
	Environment          string          `json:"environment"`
	PuppetVersion        string          `json:"puppet_version"`
	ReportFormat         json.RawMessage `json:"report_format"`
	ConfigurationVersion string          `json:"configuration_version"`
	StartTime            string          `json:"start_time"`
	EndTime              string          `json:"end_time"`
	ProducerTimestamp    string          `json:"producer_timestamp"`
	Producer             string          `json:"producer"`
	Resources            []wireResource  `json:"resources"`
	Metrics              []wireMetric    `json:"metrics"`
	Logs                 []wireLog       `json:"logs"`
	TransactionUUID      *string         `json:"transaction_uuid"`
	CatalogUUID          *string         `json:"catalog_uuid"`
	CodeID               *string         `json:"code_id"`
	JobID                *string         `json:"job_id"`
	CachedCatalogStatus  *string         `json:"cached_catalog_status"`
	Status               string          `json:"status"`
	Noop                 *bool           `json:"noop"`
	NoopPending          *bool           `json:"noop_pending"`
	CorrectiveChange     *bool           `json:"corrective_change"`
}

type wireResource struct {
	ResourceType     string      `json:"resource_type"`
	ResourceTitle    string      `json:"resource_title"`
	Timestamp        string      `json:"timestamp"`
	Skipped          bool        `json:"skipped"`
	File             *string     `json:"file"`
	Line             *int        `json:"line"`
	ContainmentPath  []string    `json:"containment_path"`
	CorrectiveChange *bool       `json:"corrective_change"`
	Events           []wireEvent `json:"events"`
}

type wireEvent struct {
	Status           string  `json:"status"`
	Timestamp        string  `json:"timestamp"`
	Name             *string `json:"name"`
	Property         *string `json:"property"`
	NewValue         string  `json:"new_value"`
	OldValue         string  `json:"old_value"`
	CorrectiveChange *bool   `json:"corrective_change"`
	Message          *string `json:"message"`
}

type wireMetric struct {
	Category string          `json:"category"`
	Name     string          `json:"name"`
	Value    json.RawMessage `json:"value"`
}

type wireLog struct {
	File    *string  `json:"file"`
	Line    *int     `json:"line"`
	Level   string   `json:"level"`
	Message string   `json:"message"`
	Source  string   `json:"source"`
	Tags    []string `json:"tags"`
	Time    string   `json:"time"`
}

// storeReport makes of a report PuppetDB's command: the same for the same report.
func storeReport(text []byte, received time.Time) ([]byte, error) {
	var report puppetReport
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("not a Puppet report: %w", err)
	}
	if report.Time.IsZero() {
		return nil, errors.New("not a Puppet report: field \"time\" is missing")
	}
	payload, err := report.wire(received)
	if err != nil {
		return nil, fmt.Errorf("not a Puppet report: %w", err)
	}
	return json.Marshal(map[string]any{"command": "store report", "version": 8, "payload": payload})
}

func (r *puppetReport) wire(received time.Time) (wireReport, error) {
	out := wireReport{
		Certname: r.Host, Environment: r.Environment, PuppetVersion: r.PuppetVersion, ReportFormat: r.ReportFormat,
		ConfigurationVersion: plain(r.ConfigurationVersion), ProducerTimestamp: wireTime(received), Producer: r.Host,
		StartTime: wireTime(r.Time), Resources: []wireResource{}, Metrics: []wireMetric{}, Logs: []wireLog{},
		TransactionUUID: r.TransactionUUID, CatalogUUID: r.CatalogUUID, CodeID: r.CodeID, JobID: r.JobID, CachedCatalogStatus: r.CachedCatalogStatus,
		Status: r.Status, Noop: r.Noop, NoopPending: r.NoopPending, CorrectiveChange: r.CorrectiveChange,
	}
	if r.ServerUsed != nil && *r.ServerUsed != "" {
		out.Producer, _, _ = strings.Cut(*r.ServerUsed, ":") // a port may follow
	}
	if out.CatalogUUID == nil {
		out.CatalogUUID = r.TransactionUUID
	}
	if format := plain(r.ReportFormat); format != "" {
		out.ReportFormat = json.RawMessage(format) // a number, also where it is written as a text
	}
	if err := r.addMetrics(&out); err != nil {
		return out, err
	}
	for _, log := range r.Logs {
		if log.Tags == nil {
			log.Tags = []string{}
		}
		out.Logs = append(out.Logs, log)
	}
	for _, name := range slices.Sorted(maps.Keys(r.ResourceStatuses)) {
		// As Puppet's own processor, which leaves those out that nothing has happened to.
		if resource := r.ResourceStatuses[name]; len(resource.Events) > 0 || resource.Skipped {
			out.Resources = append(out.Resources, resource.wire())
		}
	}
	return out, nil
}

// addMetrics adds the metrics in the order of their names, and when the run ended.
func (r *puppetReport) addMetrics(out *wireReport) error {
	total := 0.0
	for _, category := range slices.Sorted(maps.Keys(r.Metrics)) {
		for _, value := range r.Metrics[category].Values {
			if len(value) < 2 {
				return fmt.Errorf("a metric of %s has no value", category)
			}
			metric := wireMetric{Category: category, Name: plain(value[0]), Value: value[len(value)-1]}
			if category == "time" && metric.Name == "total" {
				if err := json.Unmarshal(metric.Value, &total); err != nil {
					return fmt.Errorf("the metric time of total: %w", err)
				}
			}
			out.Metrics = append(out.Metrics, metric)
		}
	}
	slices.SortStableFunc(out.Metrics, func(a, b wireMetric) int {
		if order := strings.Compare(a.Category, b.Category); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	out.EndTime = wireTime(r.Time.Add(time.Duration(total * float64(time.Second))))
	return nil
}

func (r puppetResource) wire() wireResource {
	out := wireResource{
		ResourceType: r.ResourceType, ResourceTitle: plain(r.Title), Timestamp: r.Time, Skipped: r.Skipped, File: r.File, Line: r.Line,
		ContainmentPath: r.ContainmentPath, CorrectiveChange: r.CorrectiveChange, Events: []wireEvent{},
	}
	for _, event := range r.Events {
		out.Events = append(out.Events, wireEvent{
			Status: event.Status, Timestamp: event.Time, Name: event.Name, Property: event.Property,
			NewValue: plain(event.DesiredValue), OldValue: plain(event.PreviousValue), CorrectiveChange: event.CorrectiveChange, Message: event.Message,
		})
	}
	return out
}

// plain is a value as a text: a string as it is, nothing for null, and all else as JSON.
func plain(value json.RawMessage) string {
	var text string
	switch {
	case value == nil || string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return compact.String()
}

func wireTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
