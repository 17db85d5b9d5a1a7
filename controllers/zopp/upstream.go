package zopp

import "time"

// listsAtOnce is how many environments are listed at a time.
const listsAtOnce = 16

// upstream is a zopp server with the state that all followers share.
type upstream struct {
	server   server
	interval time.Duration // between polls, where no user wants them more often
	metrics  *metrics
	lists    chan struct{} // one for each list that runs
	outage   *outage
}
