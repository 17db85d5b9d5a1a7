package openzro

import (
	"context"
	"time"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// httpRoutes reconciles OZHTTPRoutes as far as possible: no known server has the required
// reverse proxy.
type httpRoutes struct{}

// servicesInterval is how often it is looked whether a server has got it.
const servicesInterval = time.Hour

func (httpRoutes) keep(ctx context.Context, t *task[*v1.OZHTTPRoute]) error {
	served, err := t.Serves(ctx, "/services")
	if err != nil {
		return err
	}
	message := "the management server has no reverse proxy (/api/services); it is looked again every hour"
	if served {
		message = "the management server has a reverse proxy (/api/services) which this version of Lintel does not know; upgrade Lintel"
	}
	return &problem{reason: v1.ReasonNotSupportedByServer, message: message, again: servicesInterval}
}

// remove has nothing to take away.
func (httpRoutes) remove(context.Context, *task[*v1.OZHTTPRoute]) error { return nil }
