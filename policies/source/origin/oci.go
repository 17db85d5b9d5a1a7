package origin

import "context"

func fetchOCI(context.Context, Request) (*Answer, error) {
	return nil, refuse(ReasonFetchFailed, "soon")
}
