package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

// refused is an answer that will not be another one later.
type refused struct{ error }

// unavailable is an answer that may be another one later, or for another report.
type unavailable struct{ error }

// maxAnswer is how much of an answer is read, of which only the status counts.
const maxAnswer = 1 << 20

// send posts a report of a time to an endpoint. An error that is neither *refused nor
// *unavailable is that there was no answer at all.
func send(ctx context.Context, endpoint *endpoints.Report, report []byte, received time.Time) error {
	target, err := url.Parse(endpoint.URL)
	if err != nil {
		return &refused{err}
	}
	if endpoint.Processor == endpoints.ProcessorPuppetDB {
		if target, err = endpoint.Join(commandPath); err == nil {
			report, err = storeReport(report, received)
		}
		if err != nil {
			return &refused{err}
		}
	}
	answer, err := endpoint.Do(ctx, endpoints.Call{
		Method: http.MethodPost, URL: target, Body: report, ContentType: "application/json", Accept: "application/json",
		Headers: endpoint.Headers, Limit: maxAnswer,
	})
	switch {
	case err != nil:
		return err
	case answer.Status >= 200 && answer.Status < 300:
		return nil
	}
	err = fmt.Errorf("%s has answered %d %s", endpoint.Server(), answer.Status, http.StatusText(answer.Status))
	if isFinal(answer.Status) {
		return &refused{err}
	}
	return &unavailable{err}
}

// isFinal reports whether a report is refused permanently. Credentials may be outdated for a
// moment, so that a report whose sender is unknown is stored.
func isFinal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < 500
}

// stopsOthers says whether no other report would fare better.
func stopsOthers(err error) bool {
	return !errors.As(err, new(*unavailable))
}
